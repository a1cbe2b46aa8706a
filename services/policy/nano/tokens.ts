/**
 * Token ids of the embedded policy. Text is its UTF-8 bytes, ids 0–255; everything with a meaning lies above, so that no
 * text of a conversation can contain (and no file can fake) a marker or an action.
 */

/** Ends every message and, sampled, every turn. */
export const END_OF_TURN = 256;
export const SYSTEM = 257;
export const USER = 258;
export const ASSISTANT = 259;
export const TOOL = 260;
/** Ids from here on are actions; the conversation says what each one stands for. */
export const FIRST_ACTION = 512;

/** UTF-8 bytes of `text` as tokens. Lone surrogates become U+FFFD, as everywhere else in UTF-8. */
export function encodeText(text: string): number[] {
  return Array.from(Buffer.from(text, "utf8"));
}
