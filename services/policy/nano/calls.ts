/** Tool calls as the embedded policy makes them: above all, replaced strings that occur only once. */

export interface Call {
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

/** Below node_modules there is nothing to repair; patterns have no other way to leave a folder out. */
const PATTERNS = ["*.js", "[!n]*/**/*.js"];

/** Seconds. A reproduction takes a fraction of one, also on a very busy machine; what has not ended by then will not end. */
const CHECK_SECONDS = 30;

function call(name: string, args: Readonly<Record<string, unknown>>): Call {
  return { name, arguments: JSON.stringify(args) };
}

export function globCalls(): Call[] {
  return PATTERNS.map((pattern) => call("Glob", { pattern }));
}

export function readCall(path: string): Call {
  return call("Read", { file_path: path });
}

export function bashCall(command: string): Call {
  return call("Bash", { command, timeout: CHECK_SECONDS });
}

/** Where two texts differ, as a replacement: `from[start, end)` becomes `text`. */
export function difference(from: string, to: string): { start: number; end: number; text: string } {
  const limit = Math.min(from.length, to.length);
  let start = 0;
  while (start < limit && from[start] === to[start]) start++;
  let tail = 0;
  while (tail < limit - start && from[from.length - 1 - tail] === to[to.length - 1 - tail]) tail++;
  return { start, end: from.length - tail, text: to.slice(start, to.length - tail) };
}

export function lineStart(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf("\n", offset - 1) + 1;
}

export function lineEnd(text: string, offset: number): number {
  const end = text.indexOf("\n", offset);
  return end < 0 ? text.length : end;
}

/** An Edit that turns `from` into `to`: whole lines around the difference, and more of them until they occur only once. */
export function editCall(path: string, from: string, to: string): Call {
  const change = difference(from, to);
  let start = lineStart(from, change.start);
  let end = lineEnd(from, change.end);
  const unique = () => {
    const part = from.slice(start, end);
    return part !== "" && from.indexOf(part) === from.lastIndexOf(part);
  };
  for (let above = true; !unique() && (start > 0 || end < from.length); above = !above) {
    if (start > 0 && (above || end === from.length)) start = lineStart(from, start - 1);
    else end = lineEnd(from, end + 1);
  }
  return call("Edit", {
    file_path: path,
    old_string: from.slice(start, end),
    new_string: from.slice(start, change.start) + change.text + from.slice(change.end, end),
  });
}

/** The arguments of a call; none when they are no JSON object. */
export function argumentsOf(each: Call): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(each.arguments);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {};
  } catch {
    return {};
  }
}
