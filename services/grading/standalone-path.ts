/** Where the grader stands that exporters put into other projects' boxes. */
import { join } from "node:path";

export const STANDALONE_GRADER = join(import.meta.dirname, "standalone.ts");
