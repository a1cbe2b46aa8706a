/** Solutions that are scripts: run in a box of the task's environment, what they change is the solution. */
import { boxSpec, type PreparedEnvironment } from "../environments/index.ts";
import { limitsOf, placeFiles } from "../grading/index.ts";
import type { SandboxRuntime } from "../sandbox/index.ts";
import type { ResolveContext } from "./resolve.ts";
import { ImportError } from "./types.ts";

/** Of each of stdout and stderr, for the message of a failure. */
const OUTPUT_BYTES = 64 * 1024;
const LAST_CHARACTERS = 300;
/** The reaper may remove a box so long after the script's own limit. */
const GRACE_MS = 600_000;

/** Throws ImportError `apply` for a script that fails, SandboxError where the box is lost. */
export function scriptRunner(
  runtime: SandboxRuntime,
  environment: PreparedEnvironment,
  signal?: AbortSignal,
): NonNullable<ResolveContext["runScript"]> {
  return async (edit, base) => {
    const { key, entry } = environment;
    const { limits } = limitsOf(environment);
    const sandbox = await runtime.create(
      boxSpec({ ...environment, env: { ...environment.env, ...edit.env } }, { overlay: base, limits }),
      {
        experiment: "import",
        slot: `import/${key}`,
        attempt: 1,
        fence: crypto.randomUUID(),
        deadline: Date.now() + edit.timeoutSeconds * 1000 + GRACE_MS,
      },
    );
    try {
      await placeFiles(sandbox, edit.files);
      const result = await sandbox.exec(edit.argv, {
        timeoutSeconds: edit.timeoutSeconds,
        outputBytes: OUTPUT_BYTES,
        ...(signal && { signal }),
      });
      if (result.exitCode !== 0) {
        const output = Buffer.concat([result.stdout, result.stderr]).toString("utf8").trimEnd();
        const why = result.timedOut ? `it ran for ${edit.timeoutSeconds} s` : `exit code ${result.exitCode}`;
        const at = { file: entry.name, field: edit.field };
        throw new ImportError(
          "apply",
          at,
          "a script that ends with 0",
          `${why}: ${output.slice(-LAST_CHARACTERS)}`,
        );
      }
      return await sandbox.changes();
    } finally {
      await sandbox.destroy();
    }
  };
}
