/** Model folders of the tests: small real tokenizers, and chat templates in the form that families of models document. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelFiles } from "../../../services/policy/model/files.ts";

const read = (path: string) => readFileSync(join(import.meta.dirname, path), "utf8");

const tokenizer = (name: "byte-level" | "pieces") => read(`../../unit/golden/tokenizers/${name}.json`);

/** ChatML with calls and results as `<tool_call>` and `<tool_response>`. */
export const CHATML = { hermes: read("hermes.jinja"), qwen: read("qwen.jinja") };

export function chatmlModel(family: keyof typeof CHATML): ModelFiles {
  return {
    "tokenizer.json": tokenizer("byte-level"),
    "tokenizer_config.json": JSON.stringify({ eos_token: "<|im_end|>", pad_token: "<|endoftext|>" }),
    "generation_config.json": JSON.stringify({ eos_token_id: [422, 420], temperature: 0.7 }),
    "chat_template.jinja": CHATML[family],
  };
}

/** A template in the tokenizer's configuration, with a first token, and results only behind calls. */
export function instModel(): ModelFiles {
  return {
    "tokenizer.json": tokenizer("pieces"),
    "tokenizer_config.json": JSON.stringify({
      bos_token: { content: "<s>" },
      eos_token: "</s>",
      chat_template: read("inst.jinja"),
    }),
  };
}
