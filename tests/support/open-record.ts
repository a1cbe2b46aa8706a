/** A real record for a test file: a Postgres server of its own, migrated, and a folder of artifacts. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ArtifactStore,
  createLocalArtifacts,
  type Db,
  openDatabase,
} from "../../services/store/index.ts";
import { startTestPostgres, type TestPostgres } from "./postgres.ts";

export interface TestRecord {
  readonly server: TestPostgres;
  readonly db: Db;
  /** Of the artifacts. */
  readonly folder: string;
  readonly artifacts: ArtifactStore;
  close(): Promise<void>;
}

export async function openTestRecord(): Promise<TestRecord> {
  const server = await startTestPostgres();
  const db = await openDatabase(server.url);
  const folder = await mkdtemp(join(tmpdir(), "tadpole-artifacts-"));
  return {
    server,
    db,
    folder,
    artifacts: await createLocalArtifacts(folder),
    close: async () => {
      await db.destroy();
      await server.stop();
      await rm(folder, { recursive: true });
    },
  };
}
