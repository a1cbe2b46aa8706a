/** Files of an environment's tree that a check looks at: its code, tests aside. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { PreparedEnvironment } from "../../environments/types.ts";
import { testMounts } from "../../grading/index.ts";
import { isCode } from "../../languages/index.ts";

const below = (path: string, folders: readonly string[]): boolean =>
  folders.some((folder) => path === folder || path.startsWith(`${folder}/`));

/** Paths of the snapshot's code, sorted; test folders, modules and the repository's history are not looked into. */
export function codeFiles({ root, entry }: Pick<PreparedEnvironment, "root" | "entry">): string[] {
  const skip = [...testMounts(entry), "node_modules", ".git"];
  const visit = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((item) => {
      const path = folder === "" ? item.name : `${folder}/${item.name}`;
      if (below(path, skip)) return [];
      if (item.isDirectory()) return visit(path);
      return item.isFile() && isCode(path) ? [path] : [];
    });
  return visit("").sort();
}
