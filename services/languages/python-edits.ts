/** The edit operators of Python. */
import type { SyntaxNode } from "./grammars.ts";
import type { Propose } from "./tree-language.ts";

export const OPERATORS = ["comparison"] as const;

export function proposeEdits(_root: SyntaxNode, _text: string, _propose: Propose): void {}
