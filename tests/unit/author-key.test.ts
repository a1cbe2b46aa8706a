/** The key of an author's server: no message holds it, whatever the server sends back. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createChat } from "../../services/author/chat.ts";
import { AuthorError } from "../../services/author/index.ts";
import { authorSettings } from "../support/author-books.ts";

const VARIABLE = "TADPOLE_TEST_AUTHOR_KEY";
const KEY = "sk-test-0123456789abcdef";

const open: { close(): Promise<void> }[] = [];
beforeEach(() => {
  process.env[VARIABLE] = KEY;
});
afterEach(async () => {
  delete process.env[VARIABLE];
  for (const one of open.splice(0)) await one.close();
});

async function failureOf(url: string): Promise<AuthorError> {
  const settings = authorSettings(url, { apiKeyEnv: VARIABLE, timeoutSeconds: 2 });
  return createChat(
    settings,
    [],
  )([{ role: "user", content: "Write a task." }]).then(
    () => {
      throw new Error("it answered");
    },
    (error: unknown) => {
      expect(error).toBeInstanceOf(AuthorError);
      return error as AuthorError;
    },
  );
}

/** A server that sends the Authorization header back, in every place that a message could take its words from. */
async function startQuoting(
  reply: (key: string) => { status: number; body: string; reason?: string; headers?: object },
) {
  const server = createServer((request, response) => {
    request.resume();
    const { status, body, reason = "", headers = {} } = reply(request.headers.authorization ?? "");
    response.writeHead(status, reason, { "content-type": "application/json", ...headers }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push({ close: () => new Promise((resolve) => server.close(() => resolve())) });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("the key", () => {
  const problem = (key: string) => JSON.stringify({ error: { message: key, code: key, type: key } });
  const refusing = (status: number) => (key: string) => ({ status, body: problem(key), reason: key });
  const message = { content: "hello" };
  const usage = { prompt_tokens: 9, completion_tokens: 3 };
  const answering = (whole: (key: string) => unknown) => (key: string) => ({
    status: 200,
    body: JSON.stringify(whole(key)),
  });
  it.each([
    ["refused-key", refusing(401)],
    ["unknown-model", refusing(404)],
    ["protocol", (key: string) => ({ status: 404, body: key })],
    ["refused", refusing(400)],
    ["refused", (key: string) => ({ status: 422, body: JSON.stringify([{ detail: key }]) })],
    [
      "refused",
      (key: string) => ({ status: 307, body: key, headers: { location: `http://${key.slice(7)}/` } }),
    ],
    ["server", refusing(500)],
    ["server", (key: string) => ({ status: 502, body: `<h1>${key}</h1>` })],
    ["rate-limited", (key: string) => ({ ...refusing(429)(key), headers: { "retry-after": key } })],
    ["wrong-model", answering((key) => ({ model: key, choices: [{ message }], usage }))],
    [
      "wrong-model",
      answering((key) => ({ model: `${"x".repeat(190)}${key}`, choices: [{ message }], usage })),
    ],
    ["protocol", answering((key) => key)],
    ["protocol", answering((key) => ({ model: "scripted", choices: key, usage }))],
    ["protocol", (key: string) => ({ status: 200, body: `{"${key}` })],
    ["usage", answering((key) => ({ model: "scripted", choices: [{ message }], usage: { [key]: key } }))],
    [
      "usage",
      answering(() => ({
        model: "scripted",
        choices: [{ message }],
        usage: { ...usage, prompt_tokens: 1e6 },
      })),
    ],
    [
      "unreachable",
      (key: string) => ({ status: 200, body: "{}", headers: { "content-length": "9", "x-key": key } }),
    ],
  ] as const)("is in no message of %s, though the server sends it back", async (kind, reply) => {
    for (const key of [KEY, 'sk-"quoted"\\\\&<key>']) {
      process.env[VARIABLE] = key;
      const url = await startQuoting(reply);
      const error = await failureOf(url);
      expect(error.kind, error.message).toBe(kind);
      expect(error.cause).toBeUndefined();
      for (const secret of [key, JSON.stringify(key).slice(1, -1), key.slice(0, 12)])
        expect(`${error.message}${error.stack}`).not.toContain(secret);
    }
  });

  it.each(["sk-\nabcdef", "sk-abc def", "sk-ключ"])(
    "that no header can carry is refused unquoted: %j",
    (key) => {
      process.env[VARIABLE] = key;
      const settings = authorSettings("http://127.0.0.1:9", { apiKeyEnv: VARIABLE });
      const refused = () => createChat(settings, []);
      expect(refused).toThrow(`synthesis.author.apiKeyEnv: expected the environment variable ${VARIABLE}`);
      expect(refused).not.toThrow(key.slice(3));
    },
  );
});
