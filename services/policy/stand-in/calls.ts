/** The tool calls that make a change of whole files, as an agent could make them. */
import type { FileChange } from "../../../core/task.ts";
import type { Call } from "../nano/calls.ts";

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const call = (name: string, args: Readonly<Record<string, unknown>>): Call => ({
  name,
  arguments: JSON.stringify(args),
});

const bash = (command: string): Call => call("Bash", { command });

function folderOf(path: string): string {
  const end = path.lastIndexOf("/");
  return end < 0 ? "." : path.slice(0, end);
}

function callsOf(change: FileChange): Call[] {
  const { path } = change;
  if (change.kind === "delete") return [bash(`rm -rf -- ${quoted(path)}`)];
  if (change.kind === "symlink")
    return [
      bash(`mkdir -p -- ${quoted(folderOf(path))} && ln -sfn -- ${quoted(change.target)} ${quoted(path)}`),
    ];
  const write =
    change.encoding === "utf8"
      ? call("Write", { file_path: path, content: change.content })
      : bash(
          `mkdir -p -- ${quoted(folderOf(path))} && printf %s ${quoted(change.content)} | base64 -d > ${quoted(path)}`,
        );
  return change.executable === true ? [write, bash(`chmod +x -- ${quoted(path)}`)] : [write];
}

/** In the change's order. */
export function solutionCalls(gold: readonly FileChange[]): readonly Call[] {
  return gold.flatMap(callsOf);
}
