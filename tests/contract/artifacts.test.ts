/** The local folder meets the contract of artifact stores. */
import { mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLocalArtifacts } from "../../services/store/index.ts";
import { artifactContract } from "./artifacts.ts";

artifactContract("local folder", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tadpole-artifacts-"));
  const fileOf = (sha256: string) => join(folder, sha256.slice(0, 2), sha256.slice(2));
  return {
    store: await createLocalArtifacts(folder),
    async damage(sha256, how) {
      const file = fileOf(sha256);
      if (how === "cut") return truncate(file, 5);
      const bytes = await readFile(file);
      bytes[3]! ^= 1;
      await writeFile(file, bytes);
    },
    lose: (sha256) => rm(fileOf(sha256)),
    close: () => rm(folder, { recursive: true, force: true }),
  };
});
