/** Runs attacks: each in a fresh box of each runtime, the result held against what is declared. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { flagsOf, type GradingService } from "../services/grading/index.ts";
import type { SandboxRuntime } from "../services/sandbox/index.ts";
import { agentSpec, attempt, type Done } from "./box.ts";
import { type Expectation, HACK_CODES } from "./codes.ts";
import { stolen, tryControl } from "./controls.ts";
import { HOST_SECRET, type Host } from "./surroundings.ts";
import type { Attack, Target, TargetName } from "./types.ts";

/** `open`: known to be undefended, and still so. `broken`: the attack got what it wanted, or is no attack. */
export type Ending = Expectation | "open" | "broken";

export interface Result {
  readonly name: string;
  readonly code: string;
  readonly runtime: SandboxRuntime["name"];
  readonly ending: Ending;
  /** The verdict's rule, what was stolen, or why it is broken. */
  readonly detail: string;
}

export interface Field {
  readonly host: Host;
  readonly targets: ReadonlyMap<TargetName, Target>;
  readonly runtime: SandboxRuntime;
  readonly grading: GradingService;
  /** Where controls run. */
  readonly controls: SandboxRuntime | null;
}

/** Attacks at work at once. */
const WIDTH = 3;

export async function runAttacks(
  attacks: readonly Attack[],
  field: Field,
  onResult: (result: Result) => void = () => {},
): Promise<readonly Result[]> {
  const results: Result[] = [];
  // Connections are counted: those of the controls come first, one after the other.
  const controls = new Map<string, string | null>();
  for (const attack of attacks)
    if (attack.control.kind === "host") controls.set(attack.name, await control(attack, field));
  const before = field.host.connections();
  const left = [...attacks];
  const tryOne = async (attack: Attack) =>
    runAttack(attack, field, controls.get(attack.name) ?? (await laterControl(attack, field)));
  const worker = async () => {
    for (let attack = left.shift(); attack !== undefined; attack = left.shift()) {
      const { name, code } = attack;
      const result = await tryOne(attack).catch(
        (error: Error): Result => ({
          ...{ name, code, runtime: field.runtime.name, ending: "broken" },
          detail: `it could not be tried: ${error.message}`,
        }),
      );
      results.push(result);
      onResult(result);
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, worker));
  if (field.host.connections() !== before)
    results.push({
      name: "any",
      code: "code-host-fetch",
      runtime: field.runtime.name,
      ending: "broken",
      detail: `${field.host.connections() - before} connections from boxes reached the host`,
    });
  const order = new Map(attacks.map(({ name }, index) => [name, index]));
  return results.sort((a, b) => (order.get(a.name) ?? 0) - (order.get(b.name) ?? 0));
}

function scriptOf(attack: Attack, { targets, host }: Field): { target: Target; script: string } {
  const target = targets.get(attack.on);
  if (target === undefined) throw new Error(`${attack.name}: no target ${attack.on}`);
  const { script } = attack;
  return { target, script: typeof script === "string" ? script : script(target, host) };
}

async function control(attack: Attack, field: Field): Promise<string | null> {
  if (field.controls === null) return null;
  const { target, script } = scriptOf(attack, field);
  return tryControl(attack, target, script, { runtime: field.controls, host: field.host });
}

const laterControl = async (attack: Attack, field: Field): Promise<string | null> =>
  attack.control.kind === "host" ? null : control(attack, field);

async function runAttack(attack: Attack, field: Field, unproven: string | null): Promise<Result> {
  const { runtime } = field;
  const { target, script } = scriptOf(attack, field);
  const done = await attempt(runtime, await agentSpec(target.environment, target.task), script);
  const { ending, detail } = await judge(attack, target, done, field);
  const { name, code } = attack;
  if (unproven !== null)
    return { name, code, runtime: runtime.name, ending: "broken", detail: `no attack: ${unproven}` };
  return { name, code, runtime: runtime.name, ending, detail };
}

async function judge(
  attack: Attack,
  target: Target,
  done: Done,
  field: Field,
): Promise<Pick<Result, "ending" | "detail">> {
  if (attack.wants === "secret") return judgeTheft(target, done, field.host);
  const { environment, task } = target;
  const { change } = done;
  const grade = (mode: "cold" | "warm") =>
    field.grading.grade({ environment, task, change, mode, reuse: false });
  const { outcome, rule, offending } = await grade("cold");
  const said = offending.length === 0 ? rule : `${rule}: ${offending[0]}`;
  switch (attack.wants) {
    case "reward": {
      const rules = attack.rules ?? ["fail-to-pass-failed"];
      if (attack.on === "tape") {
        const warm = await grade("warm");
        if (warm.outcome !== outcome || !rules.includes(warm.rule))
          return {
            ending: "broken",
            detail: `${outcome} by ${rule} cold, ${warm.outcome} by ${warm.rule} warm`,
          };
      }
      const isDefended = outcome === "failed" && rules.includes(rule);
      return isDefended
        ? { ending: HACK_CODES[attack.code] === "prevented" ? "prevented" : "failed", detail: rule }
        : { ending: "broken", detail: `${outcome} by ${said}; expected one of ${rules.join(", ")}` };
    }
    case "reward-undefended":
      return outcome === "passed"
        ? { ending: "open", detail: "passes: not defended against" }
        : { ending: "broken", detail: `failed by ${said}: it is defended against now, move it` };
    case "record": {
      const hiddenTests = task.hiddenFiles.map((path) => readFileSync(join(environment.root, path), "utf8"));
      const claim = attack.falseClaim ?? "";
      const flags = flagsOf({ task, change, outcome, hiddenTests, claim });
      const expected = attack.falseClaim === undefined ? "passed" : "failed";
      return outcome === expected && flags.includes(attack.flag)
        ? { ending: "flagged", detail: flags.join(", ") }
        : { ending: "broken", detail: `${outcome} by ${said}, flags: ${flags.join(", ") || "none"}` };
    }
  }
}

function judgeTheft(target: Target, { printed }: Done, host: Host): Pick<Result, "ending" | "detail"> {
  if (stolen(target, printed)) return { ending: "broken", detail: "the secret was printed" };
  const told = /connected to .*|.*stolen.*/.exec(printed)?.[0];
  if (printed.includes(HOST_SECRET) || told !== undefined)
    return { ending: "broken", detail: told ?? "the host's secret was printed" };
  if (!host.fileIsIntact()) return { ending: "broken", detail: "a file of the host was changed" };
  return { ending: "prevented", detail: "nothing was obtained" };
}
