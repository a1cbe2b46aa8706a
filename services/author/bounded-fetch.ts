/**
 * What the openai package sends its requests with: reads a whole body and no more than it may, as a server that never ends one must cost neither
 * memory nor for ever. Node's own fetch gives up after five minutes without headers, and an answer of 8,192 tokens may take longer: here the caller's
 * signal is the only limit of time. Redirects are not followed, so that a key goes nowhere else.
 */
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

/** A reply of a million tokens is smaller. */
const MAX_REPLY_BYTES = 16 * 2 ** 20;

export class ReplyTooLong extends Error {}

type Init = Pick<RequestInit, "method" | "headers" | "body" | "signal">;

/** `body` is text. The signal covers the body of the answer too. */
export function boundedFetch(
  url: string | URL,
  { method = "GET", headers, body, signal }: Init = {},
  maxBytes = MAX_REPLY_BYTES,
): Promise<Response> {
  const target = new URL(url);
  const request = target.protocol === "https:" ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const sent = request(
      target,
      {
        method,
        headers: { ...Object.fromEntries(new Headers(headers)), "accept-encoding": "identity" },
        ...(signal && { signal }),
      },
      (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > maxBytes) {
            reject(new ReplyTooLong(`a reply of more than ${maxBytes} bytes`));
            sent.destroy();
          } else chunks.push(chunk);
        });
        response.on("error", reject);
        response.on("end", () => {
          const status = response.statusCode ?? 0;
          const given = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
            values.map((value): [string, string] => [name, value]),
          );
          const mayHaveBody = status !== 204 && status !== 205 && status !== 304;
          try {
            resolve(new Response(mayHaveBody ? Buffer.concat(chunks) : null, { status, headers: given }));
          } catch (error) {
            // A status that is none.
            reject(error);
          }
        });
      },
    );
    sent.on("error", reject);
    sent.end(typeof body === "string" ? body : undefined);
  });
}
