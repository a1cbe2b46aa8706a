/** What a command in a Docker sandbox costs, against a new `exec` of the daemon and against mini-swe-agent's docker environment. */
import { connectDocker, type ExecLimits, ensureBaseImage, type Sandbox } from "../services/sandbox/index.ts";
import type { BenchContext, Measure } from "./bench.ts";
import { execInside, idleContainer } from "./peers/dockerode.ts";
import { startMiniSweAgent } from "./peers/mini-swe-agent.ts";
import { timeMeasures } from "./percentiles.ts";
import { inTurns, type Timed, timed } from "./repeat.ts";

/** One that does nothing, where all the time is overhead, and one that says something. */
const COMMANDS = ["true", "seq 2000"] as const;
const WARM_UP_ROUNDS = 3;
const ROUNDS = 100;
const QUICK_ROUNDS = 10;
const PEERS = [
  { side: "dockerode", name: "a new dockerode exec", goal: 0.17 },
  { side: "mini", name: "mini-swe-agent", goal: 0.15 },
];

const LIMITS: ExecLimits = { timeoutSeconds: 60, cpuSeconds: 60, outputBytes: 2 ** 20 };

interface Said {
  readonly code: number | null;
  readonly output: string;
}

/** The sandbox must be of the base image. All sides run the same words: mini-swe-agent's `bash -lc`. */
export async function commandLatency(context: BenchContext, sandbox: Sandbox): Promise<Measure[]> {
  const client = connectDocker();
  const image = await ensureBaseImage({ client });
  const container = await idleContainer(context, client.docker, image);
  const mini = await startMiniSweAgent(context, image, ["--rm", "--network", "none"]);
  if (mini === null)
    context.progress("mini-swe-agent is not compared: not installed; type: node bench/peers/install.ts");
  const rounds = context.quick ? QUICK_ROUNDS : ROUNDS;
  const measures: Measure[] = [];
  for (const command of COMMANDS) {
    const words = ["bash", "-lc", command];
    const sides: Record<string, () => Promise<Timed<Said>>> = {
      sandbox: () =>
        timed(async (): Promise<Said> => {
          const { exitCode, stdout } = await sandbox.exec(words, LIMITS);
          return { code: exitCode, output: Buffer.from(stdout).toString("utf8") };
        }),
      dockerode: () => timed(() => execInside(client.docker, container, words)),
      ...(mini !== null && { mini: () => mini.execute(command) }),
    };
    await inTurns(WARM_UP_ROUNDS, sides);
    const results = await inTurns(rounds, sides);
    checkSame(command, Object.values(results).flat());
    const secondsOf = (side: string) => results[side]!.map(({ seconds }) => seconds);
    const subject = secondsOf("sandbox");
    for (const { side, name, goal } of PEERS.filter(({ side }) => side in results))
      measures.push(
        ...timeMeasures(
          `${command}, docker, against ${name}`,
          { subject, reference: secondsOf(side) },
          "ms",
          goal,
        ),
      );
  }
  return measures;
}

/** A side that does less, or fails, would be fast. */
function checkSame(command: string, results: readonly Timed<Said>[]): void {
  const expected = results[0]!.value.output;
  for (const { value } of results)
    if (value.code !== 0 || value.output !== expected)
      throw new Error(
        `${command}: exit code ${value.code} and ${value.output.length} characters; expected 0 and ${expected.length}`,
      );
}
