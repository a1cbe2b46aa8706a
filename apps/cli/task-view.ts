/** One task as the terminal shows it: what it changes, its statements, gates, probes, and how it came to be what it is. */
import { earlierFormsLine, originLines } from "../../core/origin.ts";
import { type Interval, wilson } from "../../core/statistics.ts";
import type { Task } from "../../core/task.ts";
import type { MeasuredRate } from "../../services/store/index.ts";
import type { GateVerdict } from "../../services/synthesis/index.ts";
import type { LabelledLineage, LabelledTask } from "../control/index.ts";
import { formatPercent, formatTable, writeLine } from "./output.ts";

const percentRange = ({ low, high }: Interval): string =>
  `${Math.round(low * 100)} – ${Math.round(high * 100)} %`;

export function writeTask(detail: LabelledTask, gold: boolean): void {
  const { task } = detail;
  writeLine(`task ${task.id} · ${task.type} by ${task.generator} in ${task.environment}`);
  writeLine(`changes ${task.functions.join(", ")}`);
  for (const line of originLines(task)) writeLine(line);
  writeLine(
    `${task.failToPass.length} fail-to-pass and ${task.passToPass.length} pass-to-pass tests, hidden: ${task.hiddenFiles.join(", ")}`,
  );
  for (const statement of detail.statements) {
    writeLine();
    writeLine(`— statement, level ${statement.level} —`);
    writeLine(statement.text);
  }
  if (gold) writeGold(task);
  for (const { scope, candidate, gates, repairs } of detail.validations) {
    writeLine();
    writeLine(`— gates, candidate ${candidate} of ${scope} —`);
    if (repairs !== null) writeLine(earlierFormsLine(repairs));
    writeGates(gates as GateVerdict[]);
  }
  if (detail.probes.length > 0) writeProbes(detail.probes);
  for (const lineage of detail.lineage) writeLineage(lineage);
}

function writeGold({ gold, failToPass }: Task): void {
  writeLine();
  writeLine("— gold —");
  for (const change of gold)
    writeLine(
      change.kind === "write" ? `${change.path}\n${change.content}` : `${change.kind} ${change.path}`,
    );
  writeLine(`fail to pass:\n  ${failToPass.join("\n  ")}`);
}

function writeGates(gates: readonly GateVerdict[]): void {
  writeLine(
    formatTable(gates, [
      { title: "gate", value: ({ gate }) => gate },
      { title: "passed", value: ({ passed }) => (passed ? "yes" : "no") },
      { title: "evidence", value: ({ evidence }) => evidence },
    ]),
  );
}

function writeProbes(probes: LabelledTask["probes"]): void {
  writeLine();
  writeLine(
    formatTable(probes, [
      { title: "probe of", value: ({ scope }) => scope },
      { title: "level", align: "right", value: ({ level }) => level },
      { title: "policy", value: ({ policy }) => policy },
      { title: "passes", align: "right", value: ({ passes, runs }) => `${passes}/${runs}` },
      {
        title: "rate",
        align: "right",
        value: ({ rate, passes, runs }) => formatPercent(rate ?? passes / runs),
      },
      { title: "95 %", value: ({ passes, runs }) => percentRange(wilson(passes, runs)) },
      { title: "decision", value: ({ decision }) => decision },
      { title: "label", value: ({ label }) => label },
    ]),
  );
}

const counted = (measured: MeasuredRate | null): string | null =>
  measured && `${measured.passes}/${measured.runs}`;

function writeLineage({ scope, candidate, revisions, climb }: LabelledLineage): void {
  writeLine();
  writeLine(`— revisions, candidate ${candidate} of ${scope} —`);
  writeLine(
    formatTable(revisions, [
      { title: "task", value: ({ taskId }) => taskId },
      { title: "level", align: "right", value: ({ level }) => level },
      { title: "before", align: "right", value: ({ before }) => counted(before) },
      { title: "label", value: ({ label }) => label },
      { title: "action", value: ({ action }) => action },
      { title: "after", align: "right", value: ({ after }) => counted(after) },
      {
        title: "because",
        value: ({ diagnosis }) => diagnosis && `${diagnosis.cause}: ${diagnosis.evidence}`,
      },
    ]),
  );
  const [first, last] = [climb[0], climb.at(-1)];
  if (first !== undefined && last !== undefined)
    writeLine(
      `climbed on in ${climb.length} updates: ${counted(first)} in update ${first.update}, ${counted(last)} in update ${last.update}`,
    );
}
