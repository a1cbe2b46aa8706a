/** What the daemon tells while it pulls or builds: a stream of JSON, an event a line. */

/** Throws what the stream throws, and SyntaxError for a line that is no JSON. */
export async function* daemonEvents<T extends object>(
  stream: AsyncIterable<string | Uint8Array>,
): AsyncGenerator<T> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    rest += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") yield JSON.parse(line) as T;
  }
  if (rest.trim() !== "") yield JSON.parse(rest) as T;
}
