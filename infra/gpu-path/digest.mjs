/** What an installed part is compared with: a hash of all files that decide it. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const files = {
  trainer: ["constraints.txt", "requirements.txt"],
  vllm: ["constraints.txt", "requirements.txt", "requirements-vllm.txt"],
};

export function partsDigest(folder, part) {
  const hash = createHash("sha256");
  for (const name of files[part]) hash.update(readFileSync(join(folder, name)));
  return hash.digest("hex").slice(0, 16);
}
