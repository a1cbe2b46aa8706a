/**
 * A verifier's own tests, made to fail: each keeps its name, its fixtures and its parameters, loads what it tests, and asserts what is false. What
 * still reports them as passed has not run them. Pure.
 */
import type { FileChange, Task, TestStatus, Verifier } from "../../core/task.ts";

const TEST_FILE = /^\s*(?:async\s+)?def test\w*\s*\(/im;
/** A file that is run as a program ends here. */
const MAIN = /^if __name__ ==/m;

/** `wraps` shows the original's parameters to pytest, and keeps its marks. */
const FAILING = `
def _values():
    import functools
    import types

    def failing(test):
        @functools.wraps(test)
        def values(*args, **kwargs):
            raise AssertionError('values')

        return values

    def visit(names):
        found = {}
        for name, value in list(names.items()):
            if isinstance(value, types.FunctionType) and name.lower().startswith('test'):
                found[name] = failing(value)
            elif isinstance(value, type) and value.__module__ == __name__:
                for inner, test in visit(vars(value)).items():
                    setattr(value, inner, test)
        return found

    globals().update(visit(globals()))


_values()


`;

/** The verifier with every Python test among its files failing; undefined where there is none. */
export function failingVerifier(verifier: Verifier): Verifier | undefined {
  const files = verifier.files.map(failingFile);
  return files.some((file, index) => file !== verifier.files[index]) ? { ...verifier, files } : undefined;
}

function failingFile(file: FileChange): FileChange {
  if (file.kind !== "write" || file.encoding !== "utf8") return file;
  const { path, content } = file;
  if (!path.endsWith(".py") || !TEST_FILE.test(content)) return file;
  const at = MAIN.exec(content)?.index ?? content.length;
  return { ...file, content: `${content.slice(0, at)}\n${FAILING}${content.slice(at)}` };
}

/** Names that a solution is judged by above all: none of them may pass where its test was made to fail. */
export function judgedNames({ failToPass, passToPass, verifier }: Task): readonly string[] {
  const exact = verifier?.exact;
  if (exact) return Object.keys(exact).filter((name) => exact[name] === "passed");
  return failToPass.length > 0 ? failToPass : passToPass;
}

export const passedOf = (
  names: readonly string[],
  statuses: Readonly<Record<string, TestStatus>>,
): readonly string[] => names.filter((name) => Object.hasOwn(statuses, name) && statuses[name] === "passed");
