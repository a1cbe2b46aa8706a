/** What a trainer printed last, fit for a failure: few lines, none of them long, no secret in them. */
import { open } from "node:fs/promises";

/** A traceback of PyTorch and what NCCL says before it dies fit into this. */
const READ_BYTES = 64 * 1024;

/** A failure travels in Temporal's history; the whole log stays in its file. */
const LINES = 12;
const COLUMNS = 240;

/** The end of a log, from the first whole line on; empty where there is none. */
export async function readTail(file: string): Promise<string> {
  const handle = await open(file, "r").catch(() => null);
  if (handle === null) return "";
  try {
    const { size } = await handle.stat();
    const from = Math.max(0, size - READ_BYTES);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - from), 0, size - from, from);
    const text = buffer.toString("utf8", 0, bytesRead);
    return from === 0 ? text : text.slice(text.indexOf("\n") + 1);
  } finally {
    await handle.close();
  }
}

/** Variables that are no trainer's business, and whose values its output must not show. */
const SECRET_NAME = /(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|COOKIE)|^(DATABASE_URL|PGPASSFILE)$/i;

/** The environment without its secrets. */
export function withoutSecrets(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !SECRET_NAME.test(name)));
}

const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/(\w:\/\/)[^\s/@]+@/g, "$1…@"],
  [/\b(bearer)\s+\S+/gi, "$1 …"],
  [/((?:key|token|secret|password)["']?\s*[=:]\s*["']?)[^\s"',;]+/gi, "$1…"],
  // Tokens that say by their beginning what they are: Hugging Face, OpenAI, AWS.
  [/\b(hf_|sk-|AKIA)[A-Za-z0-9_-]{8,}/g, "$1…"],
];

/** The last lines, without colours and secrets. Carriage returns of a progress bar begin lines of their own. */
export function lastLines(log: string): readonly string[] {
  const plain = SECRETS.reduce(
    (text, [secret, instead]) => text.replace(secret, instead),
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character begins a colour
    log.replace(/\u001b\[[0-9;]*[A-Za-z]/g, ""),
  );
  return plain
    .split(/[\r\n]+/)
    .map((line) => line.trimEnd())
    .filter((line) => line !== "")
    .slice(-LINES)
    .map((line) => (line.length > COLUMNS ? `${line.slice(0, COLUMNS - 1)}…` : line));
}
