/** Runs attacks: each in a fresh box of each runtime, the result held against what is declared. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { flagsOf, type GradingService } from "../services/grading/index.ts";
import type { SandboxRuntime, Semaphore } from "../services/sandbox/index.ts";
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
  readonly places: Semaphore;
}

/** Null where the deed succeeded, by the attack's name. Connections are counted: one after the other, and before any box is there. */
export async function proveOnHost(
  attacks: readonly Attack[],
  field: Pick<Field, "host" | "targets" | "controls">,
): Promise<ReadonlyMap<string, string | null>> {
  const proven = new Map<string, string | null>();
  for (const attack of attacks)
    if (attack.control.kind === "host") proven.set(attack.name, await control(attack, field));
  return proven;
}

/** Results come in the list's order, `onResult` is told of each as it ends. */
export async function runAttacks(
  attacks: readonly Attack[],
  field: Field,
  proven: ReadonlyMap<string, string | null>,
  onResult: (result: Result) => void = () => {},
): Promise<readonly Result[]> {
  const { host, places, runtime } = field;
  const before = host.connections();
  const tryOne = async (attack: Attack): Promise<Result> => {
    const { name, code } = attack;
    const known = proven.get(name);
    const unproven = known === undefined ? await control(attack, field) : known;
    const result = await runAttack(attack, field, unproven).catch(
      (error: Error): Result => ({
        ...{ name, code, runtime: runtime.name, ending: "broken" },
        detail: `it could not be tried: ${error.message}`,
      }),
    );
    onResult(result);
    return result;
  };
  const results = await Promise.all(
    attacks.map((attack) => (attack.waits ? tryOne(attack) : places.run(() => tryOne(attack)))),
  );
  const reached = host.connections() - before;
  if (reached === 0) return results;
  const detail = `${reached} connections from boxes reached the host`;
  return [
    ...results,
    { name: "any", code: "code-host-fetch", runtime: runtime.name, ending: "broken", detail },
  ];
}

function scriptOf(
  attack: Attack,
  { targets, host }: Pick<Field, "targets" | "host">,
): { target: Target; script: string } {
  const target = targets.get(attack.on);
  if (target === undefined) throw new Error(`${attack.name}: no target ${attack.on}`);
  const { script } = attack;
  return { target, script: typeof script === "string" ? script : script(target, host) };
}

async function control(
  attack: Attack,
  { controls, ...field }: Pick<Field, "host" | "targets" | "controls">,
): Promise<string | null> {
  if (controls === null) return null;
  const { target, script } = scriptOf(attack, field);
  return tryControl(attack, target, script, { runtime: controls, host: field.host });
}

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
