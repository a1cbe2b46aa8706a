/** The functions of a source, under the names a reader would call them. */
import type { AnyNode } from "acorn";
import { isFunction, lineAt, walk } from "./parse.ts";
import type { SourceFunction } from "./types.ts";

export const MODULE_FUNCTION = "<module>";

function nameOf(node: AnyNode | null | undefined): string | null {
  switch (node?.type) {
    case "Identifier":
    case "PrivateIdentifier":
      return node.name;
    case "Literal":
      return String(node.value);
    case "MemberExpression":
      return node.computed && node.property.type !== "Literal" ? null : nameOf(node.property);
    default:
      return null;
  }
}

/** The name a function gets from where it stands: variable, property, assignment target or default. */
function nameFromPlace(parents: readonly AnyNode[]): string | null {
  const place = parents.findLast((parent) => parent.type !== "ParenthesizedExpression");
  switch (place?.type) {
    case "VariableDeclarator":
      return nameOf(place.id);
    case "AssignmentExpression":
    case "AssignmentPattern":
      return nameOf(place.left);
    case "Property":
    case "MethodDefinition":
    case "PropertyDefinition":
      return place.computed && place.key.type !== "Literal" ? null : nameOf(place.key);
    default:
      return null;
  }
}

/** Sorted by start, outer before inner; the first is always the whole source, `<module>`. */
export function functionsOf(
  source: string,
  root: AnyNode | null,
  starts: readonly number[],
): SourceFunction[] {
  const functions: SourceFunction[] = [
    {
      name: MODULE_FUNCTION,
      start: 0,
      end: source.length,
      bodyStart: 0,
      bodyEnd: source.length,
      startLine: 1,
      endLine: lineAt(starts, source.length),
      parameters: [],
    },
  ];
  if (root === null) return functions;
  walk(root, (node, parents) => {
    if (!isFunction(node)) return;
    const startLine = lineAt(starts, node.start);
    functions.push({
      name: nameOf(node.id) ?? nameFromPlace(parents) ?? `<anonymous>:${startLine}`,
      start: node.start,
      end: node.end,
      bodyStart: node.body.start,
      bodyEnd: node.body.end,
      startLine,
      endLine: lineAt(starts, node.end),
      parameters: node.params.map((parameter) => source.slice(parameter.start, parameter.end)),
    });
  });
  return functions.sort((a, b) => a.start - b.start || b.end - a.end);
}

/** The innermost function around an offset; `<module>` where there is none. */
export function innermostFunction(functions: readonly SourceFunction[], offset: number): SourceFunction {
  let found = functions[0];
  if (found === undefined) throw new RangeError("innermostFunction: the list of functions is empty");
  for (const candidate of functions) {
    if (candidate.start > offset) break;
    if (offset < candidate.end && candidate.end - candidate.start <= found.end - found.start)
      found = candidate;
  }
  return found;
}
