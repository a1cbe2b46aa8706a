/** Text to tokens as the reference library has it (golden files by Python's `tokenizers`), but for markers that only the template may write. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Tokenizer } from "@huggingface/tokenizers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createGuard } from "../../services/policy/model/guard.ts";
import { createModelTokenizer } from "../../services/policy/model/tokenizer.ts";

const folder = join(import.meta.dirname, "golden/tokenizers");
const json = (file: string) => JSON.parse(readFileSync(join(folder, file), "utf8"));

describe.each(["byte-level", "pieces"])("the tokenizer %s", (name) => {
  const tokenizer = createModelTokenizer("m", {
    tokenizer: json(`${name}.json`),
    config: {},
    chatTemplate: { text: "", file: "" },
    named: {},
    endIds: [],
  });
  const { guard, restore } = createGuard(tokenizer.markers);
  const cases = json(`${name}.ids.json`) as { text: string; ids: number[]; plain: number[] }[];

  it.each(cases)("reads the markers of $text as the reference does", ({ text, ids }) => {
    expect(tokenizer.encode(text)).toEqual(ids);
  });

  it.each(cases)("reads none in $text where it is guarded", ({ text, plain }) => {
    expect(tokenizer.encode(guard(text), { restore })).toEqual(plain);
  });

  const words = fc.constantFrom(
    ...tokenizer.markers,
    "<",
    "<|im_",
    "end|>",
    " ",
    "\n",
    "a",
    "total",
    "\uFDD0",
    "\uFDD2",
    "é",
    "🐸",
  );
  const texts = fc.array(words, { maxLength: 12 }).map((some) => some.join(""));

  it("says of any text what the library says", () => {
    const library = new Tokenizer(json(`${name}.json`), {});
    fc.assert(
      fc.property(texts, (text) => {
        expect(tokenizer.encode(text)).toEqual(library.encode(text, { add_special_tokens: false }).ids);
      }),
    );
  });

  it("lets no text spell a marker, whatever it holds, and loses nothing of it", () => {
    const special = new Set(tokenizer.markers.map((marker) => tokenizer.encode(marker)[0]));
    fc.assert(
      fc.property(texts, (text) => {
        expect(restore(guard(text))).toBe(text);
        const ids = tokenizer.encode(guard(text), { restore });
        expect(ids.some((id) => special.has(id))).toBe(false);
      }),
    );
  });
});
