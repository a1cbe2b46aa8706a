/** fetch that reads a whole body and no more than it may: a server that never ends one costs neither memory nor for ever. */

/** A reply of a million tokens is smaller. */
export const MAX_REPLY_BYTES = 16 * 2 ** 20;

export class ReplyTooLong extends Error {}

/** The signal of the request covers the body too. */
export async function boundedFetch(
  url: string | URL | Request,
  init?: RequestInit,
  maxBytes = MAX_REPLY_BYTES,
): Promise<Response> {
  const response = await fetch(url, init);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    // Leaving the loop cancels the stream.
    if (bytes > maxBytes) throw new ReplyTooLong(`a reply of more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  const headers = new Headers(response.headers);
  // The body is decoded by now, and as long as it is.
  for (const name of ["content-encoding", "content-length", "transfer-encoding"]) headers.delete(name);
  const { status, statusText } = response;
  const mayHaveBody = status !== 204 && status !== 205 && status !== 304;
  return new Response(mayHaveBody ? Buffer.concat(chunks) : null, { status, statusText, headers });
}
