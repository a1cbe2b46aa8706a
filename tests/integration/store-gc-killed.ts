/**
 * A collection in a process of its own, for tests that kill it: `node store-gc-killed.ts <url> <folder> <n>` ends itself by SIGKILL at its n-th
 * report of progress.
 */
import { folderInventory } from "../../services/store/artifact-folder.ts";
import { collectGarbage } from "../../services/store/gc.ts";
import { openDatabase } from "../../services/store/index.ts";

const [url, folder, at] = process.argv.slice(2);
const db = await openDatabase(url!);
let reports = 0;
await collectGarbage(db, folderInventory(folder!), {
  dryRun: false,
  keepDays: 7,
  experimentsOlderThanMs: 24 * 60 * 60 * 1000,
  unrecorded: false,
  surroundings: async () => ({ live: [], sinceMs: null, pinned: new Map() }),
  onProgress: () => {
    if (++reports === Number(at)) process.kill(process.pid, "SIGKILL");
  },
});
await db.destroy();
