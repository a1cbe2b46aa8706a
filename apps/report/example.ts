/** One rollout as people read it: the statement, what the policy did turn by turn, and the verdict. */
import type { Message, ToolCall } from "../../core/trajectory.ts";
import type { ReportExample } from "../../services/store/index.ts";
import { html, type Markup } from "./html.ts";

/** Longest text shown whole; results of tools run to thirty thousand characters. */
const LONGEST = 2000;

export function shortened(text: string): string {
  if (text.length <= LONGEST) return text;
  return `${text.slice(0, LONGEST)}\n… ${text.length - LONGEST} more characters`;
}

/** The arguments as `name: value` lines; what is no JSON object stays as the policy wrote it. */
export function readableArguments(text: string): string {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return text;
    return Object.entries(parsed)
      .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
      .join("\n");
  } catch {
    return text;
  }
}

function call({ name, arguments: given }: ToolCall, result: string | undefined): Markup {
  return html`<div class="call"><p><span class="tool">${name}</span></p><pre>${shortened(readableArguments(given))}</pre>${
    result !== undefined && html`<pre class="result">${shortened(result)}</pre>`
  }</div>`;
}

function turns(messages: readonly Message[]): readonly Markup[] {
  const results = new Map(
    messages.flatMap((message) => (message.role === "tool" ? [[message.toolCallId, message.content]] : [])),
  );
  return messages.flatMap((message) => {
    if (message.role !== "assistant") return [];
    const { content, toolCalls = [] } = message;
    return html`<li>${content && html`<p class="reply">${shortened(content)}</p>`}${toolCalls.map((made) =>
      call(made, results.get(made.id)),
    )}</li>\n`;
  });
}

export function exampleSection({ caption, rollout }: ReportExample, open: boolean): Markup {
  const { row, statement, change, trajectory } = rollout;
  const passed = row.outcome === "passed";
  const facts = [
    `${row.turns} turns`,
    `${row.generated_tokens} tokens`,
    `ended by ${row.exit}`,
    row.reward === null ? null : `reward ${row.reward}`,
    change.length === 0 ? "no file changed" : `changed ${change.map(({ path }) => path).join(", ")}`,
  ];
  return html`<details class="example"${open ? html` open` : null}>
<summary><span class="verdict ${passed ? "passed" : "failed"}">${passed ? "✓ passed" : `✗ ${row.outcome ?? "not graded"}`}</span> ${caption}
<span class="facts">${facts.filter((fact) => fact !== null).join(" · ")}</span></summary>
<p class="facts">Rollout <code>${row.key}</code>, task <code>${row.task_id}</code>, policy <code>${row.policy}</code>${row.rule && html`, decided by the rule <em>${row.rule}</em>`}.</p>
<h4>Statement, level ${statement.level}</h4>
<pre class="statement">${shortened(statement.text)}</pre>
<h4>Turns</h4>
<ol class="turns">${turns(trajectory.messages)}</ol>
</details>\n`;
}
