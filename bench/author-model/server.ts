/**
 * `node bench/author-model/server.ts RUNTIME WEIGHTS`: llama.cpp behind the protocol of chat completions, on the CPU, one request at a time. Prints its
 * URL, then a line of JSON for each answer: the tokens it counted. `/free/v1` lets the model write what it likes, `/required/v1` makes it call a tool.
 */
import { createServer, type IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type ChatMessage, callGrammar, callsOf, promptOf } from "./template.ts";

interface Completion {
  readonly text: string;
  readonly tokens_predicted: number;
  readonly stopped_limited: boolean | number;
}

interface Context {
  completion(options: object): Promise<Completion>;
  tokenize(text: string): Promise<{ readonly tokens: ArrayLike<number> }>;
}

interface Asked {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly { readonly function: { readonly name: string } }[];
  readonly max_tokens: number;
  readonly temperature: number;
}

/** The instruct model of 135 million parameters was taught as many. */
const CONTEXT = 8192;

const [runtime, weights] = process.argv.slice(2) as [string, string];
const entry = createRequire(join(runtime, "package.json")).resolve("@fugood/llama.node");
const { loadModel } = (await import(pathToFileURL(entry).href)) as {
  loadModel(options: object): Promise<Context>;
};
const context = await loadModel({
  model: weights,
  n_ctx: CONTEXT,
  n_gpu_layers: 0,
  n_threads: availableParallelism(),
});

async function complete(asked: Asked, required: boolean, seed: number): Promise<object> {
  const { model, messages, tools, max_tokens, temperature } = asked;
  const prompt = promptOf(messages, tools);
  const { tokens } = await context.tokenize(prompt);
  const grammar = required ? { grammar: callGrammar(tools.map((tool) => tool.function.name)) } : {};
  const said = await context.completion({
    ...{ prompt, temperature, seed, n_predict: max_tokens, stop: ["<|im_end|>"] },
    ...grammar,
  });
  const { content, calls } = callsOf(said.text);
  const usage = { prompt_tokens: tokens.length, completion_tokens: Math.max(1, said.tokens_predicted) };
  process.stdout.write(`${JSON.stringify(usage)}\n`);
  return {
    id: `chatcmpl-${seed}`,
    object: "chat.completion",
    created: 0,
    model,
    choices: [
      {
        index: 0,
        finish_reason: calls.length > 0 ? "tool_calls" : said.stopped_limited ? "length" : "stop",
        message: {
          role: "assistant",
          content,
          ...(calls.length > 0 && {
            tool_calls: calls.map((one, i) => ({ id: `call-${seed}-${i}`, type: "function", function: one })),
          }),
        },
      },
    ],
    usage: { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens },
  };
}

async function bodyOf(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString("utf8")) as Asked;
}

let requests = 0;
let queue: Promise<unknown> = Promise.resolve();
const server = createServer((request, response) => {
  const [, kind] = /^\/(free|required)\/v1\/chat\/completions$/.exec(request.url ?? "") ?? [];
  const send = (status: number, body: object) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
  if (kind === undefined) return send(404, { error: { message: "no such route" } });
  const seed = ++requests;
  queue = queue.then(async () => {
    try {
      send(200, await complete(await bodyOf(request), kind === "required", seed));
    } catch (error) {
      send(500, { error: { message: String(error) } });
    }
  });
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
