/** What of a model's folder decides how messages become tokens. Bad input is one PolicyError `capability` that names the file. */
import { PolicyError } from "../client.ts";

/** Contents by path below the folder. */
export type ModelFiles = Readonly<Record<string, string>>;

const CHAT_TEMPLATE = "chat_template.jinja";

/** The files that are read, where they are there. */
export const TEMPLATE_FILES: readonly string[] = [
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "generation_config.json",
  CHAT_TEMPLATE,
];

export interface ModelParts {
  readonly tokenizer: Readonly<Record<string, unknown>>;
  readonly config: Readonly<Record<string, unknown>>;
  readonly chatTemplate: { readonly text: string; readonly file: string };
  /** `bos_token`, `eos_token` and so on, by name. */
  readonly named: Readonly<Record<string, string>>;
  /** Ids at which the engine ends a turn, as far as the folder says. */
  readonly endIds: readonly number[];
}

/** `where` = the folder or the policy, for the message. */
export function badModel(where: string, file: string, what: string, cause?: unknown): PolicyError {
  return new PolicyError("capability", `model ${where}: ${file}: ${what}`, { cause });
}

function jsonObject(where: string, files: ModelFiles, file: string): Record<string, unknown> | null {
  const text = files[file];
  if (text === undefined) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw badModel(where, file, `it is no JSON (${error instanceof Error ? error.message : error})`, error);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw badModel(where, file, "expected a JSON object");
  return value as Record<string, unknown>;
}

/**
 * Of a setting that is one text, or several by name (`[{ name, template }]`): then the one for tools, where there is one
 * (https://huggingface.co/docs/transformers/chat_templating).
 */
function templateIn(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return null;
  const named = new Map(
    value.map((one: { name?: unknown; template?: unknown }) => [one?.name, one?.template]),
  );
  const chosen = named.get("tool_use") ?? named.get("default");
  return typeof chosen === "string" ? chosen : null;
}

function chatTemplateOf(where: string, files: ModelFiles, config: Record<string, unknown>) {
  const own = files[CHAT_TEMPLATE];
  if (own !== undefined) return { text: own, file: CHAT_TEMPLATE };
  const file = "tokenizer_config.json";
  const text = templateIn(config.chat_template);
  if (text !== null) return { text, file };
  throw badModel(
    where,
    CHAT_TEMPLATE,
    `it is not there, and ${file} holds no chat_template: expected the chat template of the model`,
  );
}

/** A token's name may stand for its content (`"</s>"`) or for a description (`{ "content": "</s>" }`). */
function namedTokens(...sources: readonly (Record<string, unknown> | null)[]): Record<string, string> {
  const named: Record<string, string> = {};
  for (const source of sources)
    for (const [name, value] of Object.entries(source ?? {})) {
      if (!name.endsWith("_token")) continue;
      const content = typeof value === "string" ? value : (value as { content?: unknown } | null)?.content;
      if (typeof content === "string") named[name] = content;
    }
  return named;
}

export function readModelFiles(where: string, files: ModelFiles): ModelParts {
  const tokenizer = jsonObject(where, files, "tokenizer.json");
  if (tokenizer === null)
    throw badModel(where, "tokenizer.json", "it is not there: expected the tokenizer of the model");
  const config = jsonObject(where, files, "tokenizer_config.json") ?? {};
  const generation = jsonObject(where, files, "generation_config.json") ?? {};
  const endIds = [generation.eos_token_id].flat().filter((id): id is number => Number.isInteger(id));
  return {
    tokenizer,
    config,
    chatTemplate: chatTemplateOf(where, files, config),
    named: namedTokens(jsonObject(where, files, "special_tokens_map.json"), config),
    endIds,
  };
}
