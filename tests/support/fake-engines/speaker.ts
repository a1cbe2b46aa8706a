/** A fake engine's words: it says given texts, one per turn of a conversation, in the tokens of a real tokenizer. */
import { Tokenizer } from "@huggingface/tokenizers";
import type { ModelFiles } from "../../../services/policy/model/files.ts";
import type { FakeEngineOptions } from "./engine.ts";
import { endedTurn } from "./weights.ts";

/**
 * The turn is told by how often the prompt holds the token `opener`: once each for system, statement and turn, twice more for each turn that
 * was answered.
 */
export function speakerOf(
  files: ModelFiles,
  {
    opener,
    end,
    texts,
  }: { readonly opener: string; readonly end: string; readonly texts: readonly string[] },
): Pick<FakeEngineOptions, "sample" | "decode"> {
  const library = new Tokenizer(JSON.parse(files["tokenizer.json"]!), {});
  const encode = (text: string) => library.encode(text, { add_special_tokens: false }).ids;
  const [open] = encode(opener);
  const decode = (tokens: readonly number[]) =>
    tokens.length === 0
      ? ""
      : library.decode([...tokens], { skip_special_tokens: false, clean_up_tokenization_spaces: false });
  return {
    decode,
    sample: ({ prompt, maxTokens, weights }) => {
      const turn = (prompt.filter((token) => token === open).length - 3) / 2;
      const shift = Object.values(weights).join("").length % 7;
      return endedTurn(encode(`${texts[turn] ?? "done"}${end}`), maxTokens, (i) => -0.5 - (i + shift) / 1000);
    },
  };
}
