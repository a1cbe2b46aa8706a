/** Bounds of slices: the other side, one more, one less. */
import type { SyntaxNode } from "./grammars.ts";
import type { Propose } from "./tree-language.ts";

/** Expressions to which one can be added without parentheses. */
const COUNTED =
  /^(?:identifier|attribute|call|subscript|call_expression|selector_expression|index_expression)$/;
const BINARY = /^binary_(?:operator|expression)$/;

/** `[start, end)` is what stands between the brackets, `bounds` its expressions, `blank` what stands around a sign. */
export function sliceBounds(
  text: string,
  start: number,
  end: number,
  bounds: readonly SyntaxNode[],
  blank: "" | " ",
  propose: Propose,
): void {
  const whole = text.slice(start, end);
  const [only] = bounds;
  if (only !== undefined && bounds.length === 1) {
    const bound = text.slice(only.start, only.end);
    // Two colons begin a step.
    if (whole === `${bound}:`) propose("slice-bound", start, end, `:${bound}`);
    else if (whole === `:${bound}`) propose("slice-bound", start, end, `${bound}:`);
  }
  for (const bound of bounds)
    for (const sign of ["+", "-"]) {
      const more = `${blank}${sign}${blank}1`;
      const left = BINARY.test(bound.type) ? bound.children[0]! : null;
      if (COUNTED.test(bound.type)) propose("slice-bound", bound.end, bound.end, more);
      else if (left !== null && COUNTED.test(left.type) && text.slice(left.end, bound.end) === more)
        propose("slice-bound", left.end, bound.end, "");
    }
}
