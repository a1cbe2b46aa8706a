/** A server of chat completions that hands in given texts of a task, one after the other, and keeps what it was asked. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface RewordingAuthor {
  readonly url: string;
  /** Bodies of the requests, in order. */
  readonly asked: {
    readonly model: string;
    readonly messages: { readonly role: string; readonly content: string }[];
  }[];
  close(): Promise<void>;
}

/** Each answer takes 100 prompt and 20 generated tokens. A text of null is an answer without a call; the last one is repeated. */
export async function startRewordingAuthor(texts: readonly (object | null)[]): Promise<RewordingAuthor> {
  const asked: RewordingAuthor["asked"] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const parsed = JSON.parse(body);
    asked.push(parsed);
    const text = texts[Math.min(asked.length, texts.length) - 1] ?? null;
    const call = {
      id: `call-${asked.length}`,
      type: "function",
      function: { name: "Rewrite", arguments: JSON.stringify(text) },
    };
    const message = text === null ? { content: "I think." } : { content: null, tool_calls: [call] };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(
      JSON.stringify({
        id: "1",
        object: "chat.completion",
        created: 0,
        model: parsed.model,
        choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", ...message } }],
        usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
