/** The scripts of reproductions, by language: what they print for a call is one line, its value or the first line of its error. */

import { quoteShell } from "../../core/shell.ts";
import type { Reproduction } from "../../core/task.ts";

export interface Dialect {
  /** The command of a reproduction: one line of output for each call. */
  reproduction(calls: readonly string[]): Pick<Reproduction, "code" | "command">;
  /** A command that runs the calls one by one and marks each line of its own; a call that never ends leaves the later ones out. */
  batch(calls: readonly string[]): readonly string[];
}

const SHOW =
  'const show = (f) => { try { console.log(util.inspect(f(), { depth: null, compact: true, breakLength: Infinity })) } catch (e) { console.log(String(e).split("\\n")[0]) } }';

/** Calls are expressions that require what they need. */
export const node: Dialect = {
  reproduction: (calls) => {
    const code = [SHOW, ...calls.map((call) => `show(() => ${call})`)].join("; ");
    return { code, command: `node -e ${quoteShell(code)}` };
  },
  batch: (calls) => ["node", "-e", nodeBatch(calls)],
};

function nodeBatch(calls: readonly string[]): string {
  const one = (call: string, i: number) => `mark(${i}, () => ${call});`;
  return [
    "const options = { depth: null, compact: true, breakLength: Infinity };",
    `const mark = (i, f) => { let text; try { text = util.inspect(f(), options) } catch (e) { text = String(e).split("\\n")[0] } fs.writeSync(1, "\\n\\u0001" + i + " " + JSON.stringify(text) + "\\n") };`,
    ...calls.map(one),
  ].join("\n");
}

/** Calls are lines of imports and, on the last line, an expression. */
export const python: Dialect = {
  reproduction: (calls) => {
    const imports = new Set(calls.flatMap((call) => call.split("\n").slice(0, -1)));
    const code = [
      ...imports,
      ...PYTHON_SHOW,
      ...calls.map((call) => `show(lambda: ${call.split("\n").at(-1)})`),
    ];
    return { code: code.join("\n"), command: `python3 -c ${quoteShell(code.join("\n"))}` };
  },
  batch: (calls) => ["python3", "-c", PYTHON_BATCH, JSON.stringify(calls)],
};

const PYTHON_SHOW = [
  "def show(f):",
  "    try: print(repr(f()))",
  '    except Exception as e: print(f"{type(e).__name__}: {e}".split("\\n")[0])',
];

const PYTHON_BATCH = `
import json, os, sys
for i, call in enumerate(json.loads(sys.argv[1])):
    imports, _, expression = call.rpartition("\\n")
    scope = {}
    try:
        exec(imports, scope)
        text = repr(eval(expression, scope))
    except Exception as e:
        text = f"{type(e).__name__}: {e}".split("\\n")[0]
    os.write(1, f"\\n\\x01{i} {json.dumps(text)}\\n".encode())
`;
