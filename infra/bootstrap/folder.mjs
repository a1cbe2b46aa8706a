/** Makes a folder and its parents. */
import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";

/** Node's own `recursive` never returns where the system answers ENOENT for a parent that exists, as /proc does. */
export function makeFolder(folder) {
  const missing = [];
  for (let each = folder; !existsSync(each); each = dirname(each)) missing.push(each);
  for (const each of missing.reverse()) {
    try {
      mkdirSync(each);
    } catch (error) {
      // Another process may make the same folder at the same time.
      if (error.code !== "EEXIST") throw error;
    }
  }
  // An existing file of that name is told by this one.
  if (missing.length === 0) mkdirSync(folder, { recursive: true });
}
