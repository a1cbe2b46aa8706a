/**
 * Text to token ids by a model's tokenizer.json. The parts are those of `@huggingface/tokenizers` (pure JavaScript); its own `encode` reads
 * markers wherever they stand, so the splitting is done here, where it is known which of them the template wrote.
 */
import { Tokenizer } from "@huggingface/tokenizers";
import { badModel, type ModelParts } from "./files.ts";
import { anyOf } from "./guard.ts";

interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
  readonly lstrip: boolean;
  readonly rstrip: boolean;
}

export interface ModelTokenizer {
  /** Added tokens that text must not be able to spell. */
  readonly markers: readonly string[];
  /** Ids of those that `special` is set of: they end and open turns. */
  readonly special: ReadonlySet<number>;
  /**
   * `restore` is applied to the text between markers, once they are found. `continued`: the text stands within a conversation, so that no
   * tokenizer puts the space of a beginning before it.
   */
  encode(text: string, options?: { restore?: (text: string) => string; continued?: boolean }): number[];
}

/** Runs of spaces are added tokens of some models: they say nothing, and stay readable in any text. So do single characters. */
function isMarker({ content }: AddedToken): boolean {
  return content.trim().length > 1;
}

function addedTokens(tokenizer: ModelParts["tokenizer"]): AddedToken[] {
  const given = Array.isArray(tokenizer.added_tokens)
    ? (tokenizer.added_tokens as Partial<AddedToken>[])
    : [];
  return given.map(({ id, content, special = false, lstrip = false, rstrip = false }) => ({
    id: id as number,
    content: content as string,
    special,
    lstrip,
    rstrip,
  }));
}

/** Text and added tokens by turns: each token stands at an odd index. */
function sections(
  text: string,
  pattern: RegExp | null,
  byContent: ReadonlyMap<string, AddedToken>,
): string[] {
  const parts = pattern === null ? [text] : text.split(pattern);
  for (let i = 1; i < parts.length; i += 2) {
    const token = byContent.get(parts[i]!)!;
    if (token.lstrip) parts[i - 1] = parts[i - 1]!.trimEnd();
    if (token.rstrip) parts[i + 1] = parts[i + 1]!.trimStart();
  }
  return parts;
}

/** Throws PolicyError `capability` for a kind of tokenizer that the library does not know. */
export function createModelTokenizer(where: string, { tokenizer, config }: ModelParts): ModelTokenizer {
  let library: Tokenizer;
  try {
    library = new Tokenizer(tokenizer, config);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw badModel(where, "tokenizer.json", `it cannot be used (${why})`, error);
  }
  const added = addedTokens(tokenizer);
  const byContent = new Map(added.map((token) => [token.content, token]));
  const any = anyOf([...byContent.keys()].filter((content) => content !== ""));
  const pattern = any === null ? null : new RegExp(`(${any})`);
  const { normalizer, pre_tokenizer: pre, model } = library;
  if (model === null) throw badModel(where, "tokenizer.json", "expected a model");

  const encodeText = (text: string, section: number): number[] => {
    const normal = normalizer === null ? text : normalizer(text);
    if (normal.length === 0) return [];
    const words = pre === null ? [normal] : pre(normal, { section_index: section });
    return model(words).map((token: string) => {
      const id = model.tokens_to_ids.get(token) ?? model.unk_token_id;
      if (id === undefined)
        throw badModel(where, "tokenizer.json", `it has no id for ${JSON.stringify(token)}`);
      return id;
    });
  };

  return {
    markers: added.filter(isMarker).map(({ content }) => content),
    special: new Set(added.filter(({ special }) => special).map(({ id }) => id)),
    encode: (text, { restore = (one: string) => one, continued = false } = {}) => {
      const ids: number[] = [];
      let section = continued ? 1 : 0;
      for (const [i, part] of sections(text, pattern, byContent).entries()) {
        if (part === "") continue;
        if (i % 2 === 1) ids.push(byContent.get(part)!.id);
        else for (const id of encodeText(restore(part), section)) ids.push(id);
        section++;
      }
      return ids;
    },
  };
}
