/** Public surface of the author: the generator `llm`, and what its server and its prompts are called. */
export { AXES } from "./axes.ts";
export { AUTHOR_TOOLS } from "./conversation.ts";
export { createAuthor } from "./generator.ts";
export { PROMPTS, rewritePrompt } from "./prompts.ts";
export { rewriteText } from "./rewrite.ts";
export * from "./types.ts";
