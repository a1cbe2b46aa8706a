/** What a face needs to talk to a running stack: database, Temporal, artifacts; opened once, closed once. */
import type { Client } from "@temporalio/client";
import {
  connectTemporal,
  databaseUrl,
  dataFolder,
  ensureStack,
  readStack,
  StackError,
  type StackProgress,
  type StackState,
} from "../../infra/stack/index.ts";
import { type ArtifactStore, type Db, openArtifacts, openDatabase } from "../../services/store/index.ts";

export interface Session {
  readonly stack: StackState;
  readonly db: Db;
  readonly client: Client;
  readonly artifacts: ArtifactStore;
}

/** Starts or joins the stack of this data folder and runs `work` with it. */
export async function withStack<T>(
  work: (session: Session) => Promise<T>,
  onProgress?: (progress: StackProgress) => void,
): Promise<T> {
  const stack = await ensureStack({ dataFolder: dataFolder(), ...(onProgress ? { onProgress } : {}) });
  return withSession(stack, work);
}

/** Runs `work` on what is on record. The stack must run: reading alone starts nothing. */
export async function withRecord<T>(work: (session: Session) => Promise<T>): Promise<T> {
  const folder = dataFolder();
  const stack = readStack(folder);
  if (stack?.phase !== "running") {
    throw new StackError(
      "settings",
      `no stack runs in ${folder}: start it with tadpole up, or set TADPOLE_DATA to the folder of one that runs`,
    );
  }
  return withSession(stack, work);
}

async function withSession<T>(stack: StackState, work: (session: Session) => Promise<T>): Promise<T> {
  const db = await openDatabase(databaseUrl(stack));
  try {
    const { client, connection } = await connectTemporal(stack.temporal);
    try {
      return await work({
        stack,
        db,
        client,
        artifacts: await openArtifacts(stack.dataFolder),
      });
    } finally {
      await connection.close();
    }
  } finally {
    await db.destroy();
  }
}
