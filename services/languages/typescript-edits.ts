/** The edit operators of TypeScript: those of JavaScript, and one of its own. */
import { OPERATORS as SHARED } from "../javascript/index.ts";
import type { SyntaxNode } from "./grammars.ts";
import type { Propose } from "./tree-language.ts";

export const OPERATORS = [...SHARED, "nullish"] as const;

export function proposeEdits(_root: SyntaxNode, _text: string, _propose: Propose): void {}
