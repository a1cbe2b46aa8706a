/** The command that runs a Harbor task's verifier and prints the reward it wrote. Pure. */
import type { CollectHook } from "./config.ts";

/**
 * What was in /logs/verifier before is gone; reward.json wins over reward.txt; without either nothing is printed, which is no reward
 * of 0 but none at all. As with Harbor, the script's own exit code says nothing.
 */
const SCRIPT = `rm -rf /logs/verifier
mkdir -p /logs/verifier /logs/artifacts /logs/agent
while [ "$1" != -- ]; do timeout -s KILL "$1" bash -c "$2" >&2 </dev/null; shift 2; done
shift
env "$@" bash /tests/test.sh >&2 </dev/null
cd /logs/verifier || exit 1
if [ -e reward.json ]; then exec cat reward.json; fi
exec cat reward.txt`;

/** argv for the root of the working tree. The report is on stdout; what hooks and tests print is on stderr. */
export function verifierArgv(
  collect: readonly CollectHook[],
  env: Readonly<Record<string, string>>,
): readonly string[] {
  return [
    "bash",
    "-c",
    SCRIPT,
    "verifier",
    ...collect.flatMap(({ command, timeoutSeconds }) => [String(timeoutSeconds), command]),
    "--",
    ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
  ];
}
