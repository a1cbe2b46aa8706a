/** A page per admitted task: how its statement was revised, what the gates said, what the probes counted, what training made of it. */
import { earlierFormsLine, originLines } from "../../core/origin.ts";
import { wilson } from "../../core/statistics.ts";
import type { MeasuredRate } from "../../services/store/index.ts";
import type { GateVerdict } from "../../services/synthesis/index.ts";
import type { LabelledLineage, LabelledReport, LabelledTask } from "../control/index.ts";
import { shortened } from "./example.ts";
import { table } from "./figure.ts";
import { html, type Markup } from "./html.ts";
import { percent } from "./scale.ts";

type ReportTask = LabelledReport["tasks"]["shown"][number];

const counted = (measured: MeasuredRate | null | undefined): string | null =>
  measured ? `${measured.passes}/${measured.runs}` : null;

/** The first probe, that which admitted it, and the climb's last group: what was made of it in one line. */
function course({ detail }: ReportTask, admitted: boolean): string {
  const [lineage] = detail.lineage;
  if (lineage === undefined) return "not probed";
  const { revisions, climb } = lineage;
  const [first, last] = [revisions[0]!, revisions.at(-1)!];
  return [
    `first probe ${counted(first.before)}`,
    revisions.length > 1 &&
      `${admitted ? "admitted" : "probed last"} at ${counted(last.before)} after ${revisions.length - 1} revision${revisions.length > 2 ? "s" : ""}`,
    climb.length > 0 && `last climbed at ${counted(climb.at(-1))}`,
  ]
    .filter((part) => part !== false)
    .join(", ");
}

function gates(detail: LabelledTask): readonly Markup[] {
  return detail.validations.map(
    ({ candidate, gates: verdicts, repairs }) => html`<h4>Gates of candidate ${candidate}</h4>
${repairs !== null && html`<p class="facts">${earlierFormsLine(repairs)}.</p>`}
${table({
  head: ["Gate", "Verdict", "Evidence"],
  rows: (verdicts as readonly GateVerdict[]).map(({ gate, passed, evidence }) => [
    gate,
    passed ? "passed" : "refused",
    html`<span class="evidence">${shortened(evidence)}</span>`,
  ]),
})}`,
  );
}

function probes(detail: LabelledTask): Markup | false {
  return (
    detail.probes.length > 0 &&
    html`<h4>Probes</h4>${table({
      head: ["Level", "Policy", "Passes", "Rate", "95 %", "Decision", "Label"],
      rows: detail.probes.map(({ level, policy, passes, runs, rate, decision, label }) => {
        const { low, high } = wilson(passes, runs);
        return [
          level,
          policy,
          `${passes}/${runs}`,
          percent(rate ?? passes / runs, 1),
          `${percent(low)} – ${percent(high)}`,
          decision,
          label,
        ];
      }),
    })}`
  );
}

function revisions({ revisions: all, climb }: LabelledLineage): Markup {
  return html`<h4>Revisions</h4>${table({
    head: ["Task", "Level", "Before", "Label", "Action", "After", "Because"],
    rows: all.map(({ taskId, level, before, label, action, after, diagnosis }) => [
      taskId,
      level,
      counted(before),
      label,
      action,
      counted(after),
      diagnosis && html`<span class="evidence">${diagnosis.cause}: ${shortened(diagnosis.evidence)}</span>`,
    ]),
  })}${
    climb.length > 0 &&
    html`<p class="facts">Climbed on: ${climb.map((rate) => `${counted(rate)} in update ${rate.update}`).join(", ")}.</p>`
  }`;
}

function taskPage(task: ReportTask, admitted: boolean): Markup {
  const { iteration, level, detail } = task;
  const { id, type, generator, environment, functions } = detail.task;
  return html`<details class="example" id="task-${id}">
<summary>${type} by ${generator} in ${environment.split("@")[0]} <code>${id}</code>
<span class="facts">iteration ${iteration} · level ${level} · ${course(task, admitted)}</span></summary>
<p class="facts">Changes ${functions.join(", ") || "what its statement says"}. ${originLines(detail.task).map((line) => html`<br>${line}`)}</p>
${detail.statements.map(
  (
    statement,
  ) => html`<h4>Statement, level ${statement.level}${statement.level === level ? `, as it was ${admitted ? "admitted" : "probed last"}` : ""}</h4>
<pre class="statement">${shortened(statement.text)}</pre>`,
)}
${gates(detail)}${probes(detail)}${detail.lineage.map(revisions)}
</details>\n`;
}

export function taskPages({
  admitted,
  shown,
  total,
  experiment,
}: LabelledReport["tasks"]): readonly Markup[] {
  const left = total - shown.length;
  return [
    admitted
      ? html``
      : html`<p class="meta">No task was admitted. These passed the gates; their probes say why they were dropped.</p>`,
    ...shown.map((task) => taskPage(task, admitted)),
    left > 0
      ? html`<p class="meta">${left} more ${left === 1 ? "task is" : "tasks are"} not shown: <code>tadpole task list --experiment ${experiment}${admitted ? " --outcome admitted" : ""}</code> names them, <code>tadpole task show ID</code> shows one.</p>`
      : html``,
  ];
}
