/** A fake engine's words: it says given texts, one per turn of a conversation, in the tokens of a real tokenizer. */
import { Tokenizer } from "@huggingface/tokenizers";
import { type ModelFiles, readModelFiles } from "../../../services/policy/model/files.ts";
import { createGuard } from "../../../services/policy/model/guard.ts";
import { createModelTokenizer } from "../../../services/policy/model/tokenizer.ts";
import type { FakeEngineOptions } from "./engine.ts";
import { endedTurn } from "./weights.ts";

/**
 * The turn is told by how often the prompt holds the token `opener`: once each for system, statement and turn, twice more for each turn that
 * was answered. `end` = the token that ends a turn.
 */
export function speakerOf(
  files: ModelFiles,
  {
    opener,
    end,
    texts,
  }: { readonly opener: string; readonly end: string; readonly texts: readonly string[] },
): Pick<FakeEngineOptions, "sample" | "decode"> {
  const { encode, markers } = createModelTokenizer("fake", readModelFiles("fake", files));
  const { guard, restore } = createGuard(markers);
  const library = new Tokenizer(JSON.parse(files["tokenizer.json"]!), {});
  const [open] = encode(opener);
  return {
    decode: (tokens) =>
      tokens.length === 0
        ? ""
        : library.decode([...tokens], { skip_special_tokens: false, clean_up_tokenization_spaces: false }),
    sample: ({ prompt, maxTokens }) => {
      const turn = (prompt.filter((token) => token === open).length - 3) / 2;
      const words = encode(guard(texts[turn] ?? "done"), { restore });
      return endedTurn([...words, ...encode(end)], maxTokens);
    },
  };
}
