/** Which language a file is written in. */
import { extname } from "node:path";
import { go } from "./go.ts";
import { javascript } from "./javascript.ts";
import { python } from "./python.ts";
import type { Language } from "./types.ts";
import { tsx, typescript } from "./typescript.ts";

const known: readonly Language[] = [javascript, typescript, tsx, python, go];
const byExtension = new Map(
  known.flatMap((language) => language.extensions.map((extension) => [extension, language] as const)),
);

/** Null for a file of a language that nobody taught us. */
export function languageOf(file: string): Language | null {
  return byExtension.get(extname(file)) ?? null;
}

const CODE = /\.(?:[cm]?[jt]sx?|py|go)$/;

/** By its path: a file of a program, in a language that tasks are made in. */
export const isCode = (path: string): boolean => CODE.test(path);
