/** How many attacks are at work at once: as many as there are cores, whichever runtime they are tried in. */
import { availableParallelism } from "node:os";
import { Semaphore } from "../services/sandbox/index.ts";

/** Each may keep a gigabyte, and its boxes start together with the others'. */
const MOST = 8;

export const openPlaces = (): Semaphore => new Semaphore(Math.min(MOST, Math.max(2, availableParallelism())));
