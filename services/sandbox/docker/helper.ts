/** Containers that are no sandboxes: they look into an image, or change one, and are removed by whoever made them unless it is killed. */
import { randomBytes } from "node:crypto";

/** The longest that one may be at work: removing the history of a huge working tree takes minutes. */
const HELPER_MS = 60 * 60_000;

const PREFIX = "tadpole-helper-";

/**
 * A name that says when a reap may remove the container. No label says it: what is committed from a container has its labels, and so has
 * every container of that image.
 */
export const helperName = (now = Date.now()): string =>
  `${PREFIX}${now + HELPER_MS}-${randomBytes(6).toString("hex")}`;

/** Milliseconds since the epoch; undefined where the name is no helper's. */
export function helperDeadline(name: string): number | undefined {
  const deadline = /^tadpole-helper-(\d{1,15})-[0-9a-f]{12}$/.exec(name)?.[1];
  return deadline === undefined ? undefined : Number(deadline);
}

/** As the daemon's list of containers takes it. */
export const HELPER_FILTER = { name: [`^/?${PREFIX}`] };
