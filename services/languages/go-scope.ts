/**
 * Which variables a place in a Go function sees, and of which kind they are. A kind is a type's text, or what an expression without a
 * written type comes from; equal kinds are equal types. Nothing is compiled here, so a kind that is not sure is null.
 */
import type { SyntaxNode } from "./grammars.ts";
import { field, namedChildren, walk } from "./tree.ts";

export interface Variable {
  readonly name: string;
  readonly kind: string | null;
  /** Go refuses a variable that nobody reads, but for parameters. */
  readonly parameter: boolean;
}

/** The types that a file's functions give back, by name; null for a name that several have. */
export type Results = ReadonlyMap<string, readonly string[] | null>;

const PREDECLARED = /^(?:u?int(?:8|16|32|64)?|uintptr|byte|rune|string|bool|float(?:32|64))$/;

export const isFunction = (node: SyntaxNode | undefined) =>
  /^(?:function_declaration|method_declaration|func_literal)$/.test(node?.type ?? "");

const textOf = (node: SyntaxNode, text: string) => text.slice(node.start, node.end);

/** Types of a parameter list, one per name, or per type where there are no names. */
function parameters(list: SyntaxNode | undefined, text: string): Variable[] {
  return (list === undefined ? [] : namedChildren(list)).flatMap((declaration) => {
    const type = textOf(field(declaration, "type") ?? declaration, text);
    const kind = declaration.type === "variadic_parameter_declaration" ? `[]${type}` : type;
    const names = declaration.children.filter((child) => child.field === "name" && child.named);
    return (names.length > 0 ? names.map((name) => textOf(name, text)) : [""]).map((name) => ({
      name,
      kind,
      parameter: true,
    }));
  });
}

export function resultTypes(node: SyntaxNode, text: string): string[] {
  const result = field(node, "result");
  if (result === undefined) return [];
  if (result.type !== "parameter_list") return [textOf(result, text)];
  return parameters(result, text).map(({ kind }) => kind!);
}

export function resultsOf(root: SyntaxNode, text: string): Results {
  const results = new Map<string, readonly string[] | null>();
  for (const node of root.children) {
    const name = isFunction(node) ? field(node, "name") : undefined;
    if (name === undefined) continue;
    const key = textOf(name, text);
    results.set(key, results.has(key) ? null : resultTypes(node, text));
  }
  return results;
}

export class Kinds {
  private readonly text: string;
  private readonly results: Results;

  constructor(root: SyntaxNode, text: string) {
    this.text = text;
    this.results = resultsOf(root, text);
  }

  /** Kinds of what a call gives. */
  private called(call: SyntaxNode, seen: readonly Variable[]): readonly (string | null)[] {
    const callee = field(call, "function")!;
    const [first] = namedChildren(field(call, "arguments")!);
    const name = textOf(callee, this.text);
    if (name === "len" || name === "cap" || name === "copy") return ["int"];
    if (PREDECLARED.test(name)) return [name];
    if (name === "make" || name === "new")
      return first === undefined ? [] : [(name === "new" ? "*" : "") + textOf(first, this.text)];
    if (name === "append") return first === undefined ? [] : [this.of(first, seen)];
    if (callee.type === "identifier") return this.results.get(name) ?? [`result of ${name}`];
    const method = callee.type === "selector_expression" ? field(callee, "field")! : undefined;
    const known = method === undefined ? undefined : this.results.get(textOf(method, this.text));
    // A package's function: the same one gives the same type.
    const owner = method === undefined ? undefined : field(callee, "operand");
    const own = owner?.type !== "identifier" || seen.some((each) => each.name === textOf(owner, this.text));
    return own ? (known ?? []) : [`result of ${name}`];
  }

  of(node: SyntaxNode | undefined, seen: readonly Variable[]): string | null {
    const inner = (name: string) => this.of(node === undefined ? undefined : field(node, name), seen);
    switch (node?.type) {
      case "int_literal":
        return "int";
      case "float_literal":
        return "float64";
      case "rune_literal":
        return "rune";
      case "interpreted_string_literal":
      case "raw_string_literal":
        return "string";
      case "true":
      case "false":
        return "bool";
      case "composite_literal":
        return textOf(field(node, "type")!, this.text);
      case "parenthesized_expression":
        return this.of(namedChildren(node)[0], seen);
      case "unary_expression": {
        const operator = field(node, "operator")!.type;
        const kind = inner("operand");
        if (operator === "!" || operator === "-") return kind;
        if (operator === "&") return kind === null ? null : `*${kind}`;
        return operator === "*" && kind?.startsWith("*") ? kind.slice(1) : null;
      }
      case "binary_expression":
        if (/^(?:[<>=!]=?|==|&&|\|\|)$/.test(field(node, "operator")!.type)) return "bool";
        return field(node, "left")!.type === "int_literal" ? inner("right") : inner("left");
      case "slice_expression":
        return inner("operand");
      case "index_expression": {
        const kind = inner("operand");
        if (kind === "string") return "byte";
        return kind?.startsWith("[]") ? kind.slice(2) : null;
      }
      case "call_expression": {
        const kinds = this.called(node, seen);
        return kinds.length === 1 ? kinds[0]! : null;
      }
      case "identifier":
        return seen.findLast(({ name }) => name === textOf(node, this.text))?.kind ?? null;
      default:
        return null;
    }
  }

  /** The variables of one declaration, where `values` are its right side. */
  private declared(
    names: readonly SyntaxNode[],
    values: readonly SyntaxNode[],
    type: string | null,
    seen: readonly Variable[],
  ): Variable[] {
    const [only] = values;
    const several =
      names.length > 1 && values.length === 1 && only!.type === "call_expression"
        ? this.called(only!, seen)
        : [];
    return names.map((node, i) => {
      const name = textOf(node, this.text);
      // By this name everybody means one type.
      const guess = name === "err" && several.length === 0 && values.length < names.length ? "error" : null;
      const given = values.length === names.length ? this.of(values[i], seen) : (several[i] ?? guess);
      const kind =
        type ?? (given?.startsWith("result of ") && names.length > 1 && several.length > 0 ? guess : given);
      return { name, kind, parameter: false };
    });
  }

  private statement(node: SyntaxNode, seen: readonly Variable[]): Variable[] {
    switch (node.type) {
      case "short_var_declaration":
        return this.declared(
          namedChildren(field(node, "left")!),
          namedChildren(field(node, "right")!),
          null,
          seen,
        );
      case "var_declaration":
      case "var_spec_list":
        return node.children.flatMap((child) => this.statement(child, seen));
      case "var_spec": {
        const type = field(node, "type");
        const values = field(node, "value");
        return this.declared(
          node.children.filter((child) => child.field === "name" && child.named),
          values === undefined ? [] : namedChildren(values),
          type === undefined ? null : textOf(type, this.text),
          seen,
        );
      }
      case "range_clause": {
        const left = field(node, "left");
        if (left === undefined || !node.children.some((child) => child.type === ":=")) return [];
        const kind = this.of(field(node, "right"), seen);
        const [key, value] = namedChildren(left);
        const each = kind === "string" ? "rune" : kind?.startsWith("[]") ? kind.slice(2) : null;
        const index = kind === "string" || kind?.startsWith("[]") ? "int" : null;
        return [
          { node: key, kind: index },
          { node: value, kind: each },
        ].flatMap(({ node: name, kind: own }) =>
          name === undefined ? [] : [{ name: textOf(name, this.text), kind: own, parameter: false }],
        );
      }
      default:
        return [];
    }
  }

  /** What an ancestor declares before `child`, which is on the way to the place. */
  private before(parent: SyntaxNode, child: SyntaxNode, seen: readonly Variable[]): Variable[] {
    if (isFunction(parent))
      return child.field === "body"
        ? ["receiver", "parameters", "result"].flatMap((name) => {
            const list = field(parent, name);
            return list?.type === "parameter_list" ? parameters(list, this.text) : [];
          })
        : [];
    if (/^(?:statement_list|expression_case|default_case|type_case|communication_case)$/.test(parent.type)) {
      const found: Variable[] = [];
      for (const each of parent.children) {
        if (each.start >= child.start) break;
        found.push(...this.statement(each, [...seen, ...found]));
      }
      return found;
    }
    const first = field(parent, "initializer");
    if (first !== undefined && first !== child) return this.statement(first, seen);
    if (parent.type === "for_statement" && child.field === "body")
      return parent.children.flatMap((clause) =>
        clause.type === "range_clause"
          ? this.statement(clause, seen)
          : clause.type === "for_clause"
            ? this.statement(field(clause, "initializer") ?? clause, seen)
            : [],
      );
    const alias = parent.type === "type_switch_statement" ? field(parent, "alias") : undefined;
    return (alias === undefined ? [] : namedChildren(alias)).map((name) => ({
      name: textOf(name, this.text),
      kind: null,
      parameter: false,
    }));
  }

  /** The variables that a place sees, in the order of their declarations; the last of a name is the one that counts. */
  seen(parents: readonly SyntaxNode[], node: SyntaxNode): Variable[] {
    let found: Variable[] = [];
    for (const [i, parent] of parents.entries())
      found = [...found, ...this.before(parent, parents[i + 1] ?? node, found)];
    return found.filter(
      ({ name }, i) => name !== "_" && name !== "" && found.findLastIndex((each) => each.name === name) === i,
    );
  }
}

/** True where the identifier's value is used; declared and assigned only, it counts as unused. */
export function isRead(node: SyntaxNode, parents: readonly SyntaxNode[]): boolean {
  const parent = parents.at(-1);
  const above = parents.at(-2);
  if (node.field === "name" || node.field === "package") return false;
  switch (parent?.type) {
    case "expression_list":
      return (
        !(
          parent.field === "left" &&
          /^(?:short_var_declaration|assignment_statement|range_clause)$/.test(above?.type ?? "")
        ) && parent.field !== "alias"
      );
    case "inc_statement":
    case "dec_statement":
    case "labeled_statement":
      return false;
    case "literal_element":
      return parent.field !== "key";
    default:
      return true;
  }
}

/** How often each name is read in a function. */
export function readsOf(root: SyntaxNode, text: string): ReadonlyMap<string, number> {
  const reads = new Map<string, number>();
  walk(root, (node, parents) => {
    if (node.type === "identifier" && isRead(node, parents)) {
      const name = textOf(node, text);
      reads.set(name, (reads.get(name) ?? 0) + 1);
    }
    return true;
  });
  return reads;
}
