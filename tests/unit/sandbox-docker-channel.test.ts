/** The Docker runtime's channel, without a container: interleaved streams, frames cut anywhere, words through a shell. */
import { execFileSync } from "node:child_process";
import { Duplex } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Channel, ChannelLost } from "../../services/sandbox/docker/channel.ts";
import {
  Demultiplexer,
  FrameReader,
  parseEnding,
  type StreamName,
} from "../../services/sandbox/docker/frames.ts";
import { commandLine, quote } from "../../services/sandbox/docker/program.ts";
import { Collector } from "../../services/sandbox/output.ts";

const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array));

function cutUp(data: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < data.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    pieces.push(data.subarray(at, at + size));
    at += size;
  }
  return pieces;
}
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });

const piece = (stream: StreamName, content: Buffer): Buffer => {
  const header = Buffer.alloc(8);
  header[0] = stream === "stdout" ? 1 : 2;
  header.writeUInt32BE(content.length, 4);
  return Buffer.concat([header, content]);
};

describe("the demultiplexer", () => {
  it("gives each stream what was sent on it, wherever the connection cuts", () => {
    const sent = fc.array(fc.tuple(fc.constantFrom<StreamName>("stdout", "stderr"), bytes), { maxLength: 8 });
    fc.assert(
      fc.property(sent, sizes, (pieces, cuts) => {
        const got: Record<StreamName, Buffer[]> = { stdout: [], stderr: [] };
        const demultiplexer = new Demultiplexer((name, chunk) => got[name].push(Buffer.from(chunk)));
        for (const chunk of cutUp(Buffer.concat(pieces.map(([name, data]) => piece(name, data))), cuts))
          demultiplexer.push(chunk);
        for (const name of ["stdout", "stderr"] as const)
          expect(Buffer.concat(got[name])).toEqual(
            Buffer.concat(pieces.filter(([stream]) => stream === name).map(([, data]) => data)),
          );
      }),
    );
  });
});

describe("a frame", () => {
  const nonce = "n0nce";
  /** Parts of markers, so that lookalikes come up. */
  const tricky = fc
    .array(fc.constantFrom("\n", "n0nc", "n0nce", "\x01", "\x01n0nc", " ", "x", "\x01n0nce\n", "\0"), {
      maxLength: 12,
    })
    .map((parts) => Buffer.from(parts.join("")))
    .filter((content) => !content.includes(`\x01${nonce} `));

  it("is what stands between its two markers, wherever it is cut", () => {
    fc.assert(
      fc.property(bytes, tricky, bytes, sizes, (before, content, after, cuts) => {
        fc.pre(!before.includes(nonce));
        const stream = Buffer.concat([
          before,
          Buffer.from(`\x01${nonce}\n`),
          content,
          Buffer.from(`\x01${nonce} 7 1 0 0 -\n`),
          after,
        ]);
        const got: Buffer[] = [];
        const ends: string[] = [];
        const reader = new FrameReader(nonce, (chunk) => got.push(Buffer.from(chunk)));
        for (const chunk of cutUp(stream, cuts)) {
          const end = reader.push(chunk);
          if (end !== undefined) ends.push(end);
        }
        expect(Buffer.concat(got)).toEqual(content);
        expect(ends).toEqual(["7 1 0 0 -"]);
      }),
    );
  });

  it("begins with the first byte of a stream that tells no beginning", () => {
    const got: string[] = [];
    const reader = new FrameReader(nonce, (chunk) => got.push(chunk.toString()), { hasStart: false });
    expect(reader.push(Buffer.from(`said\x01${nonce} 0 1 0 0 -\n`))).toBe("0 1 0 0 -");
    expect(got.join("")).toBe("said");
  });

  it("passes content on before its end is there", () => {
    const got: string[] = [];
    const reader = new FrameReader(nonce, (chunk) => got.push(chunk.toString()));
    reader.push(Buffer.from(`\x01${nonce}\nfirst`));
    expect(got.join("")).toBe("first");
    reader.push(Buffer.from("\n"));
    expect(got.join("")).toBe("first\n");
    reader.push(Buffer.from("\x01n0n"));
    expect(got.join("")).toBe("first\n");
    reader.push(Buffer.from("sense"));
    expect(got.join("")).toBe("first\n\x01n0nsense");
  });
});

describe("an ending", () => {
  it("is read whole or not at all", () => {
    expect(parseEnding("137 2500000000 1 0 -")).toEqual({
      code: 137,
      cpuSeconds: 2.5,
      killed: 1,
      refused: 0,
      full: false,
    });
    expect(parseEnding("1 0 0 3 12:40,0:9,")).toMatchObject({ refused: 3, full: true });
    expect(parseEnding("1 0 0 0 12:0,4:9,")).toMatchObject({ full: true });
    expect(parseEnding("1 0 0 0 10:10,100:20,")).toMatchObject({ full: false });
    for (const text of ["", "1 2 3", "x 0 0 0 -", "1 0 0 0"]) expect(parseEnding(text)).toBeUndefined();
  });
});

describe("a collector", () => {
  it("keeps the first bytes and says whether there were more", () => {
    fc.assert(
      fc.property(fc.array(bytes), fc.nat(200), (chunks, limit) => {
        const collector = new Collector(limit);
        for (const chunk of chunks) collector.push(chunk);
        const all = Buffer.concat(chunks);
        expect(collector.bytes()).toEqual(all.subarray(0, limit));
        expect(collector.truncated).toBe(all.length > limit);
      }),
    );
  });
});

describe("words", () => {
  const word = fc
    .oneof(
      fc.string({ unit: "binary" }),
      fc
        .array(fc.constantFrom("'", '"', "\\", "\n", "$x", "`", " ", "*", "ā", "\u0088", "-"), {
          maxLength: 8,
        })
        .map((parts) => parts.join("")),
    )
    // A lone surrogate is no text.
    .filter((text) => !text.includes("\0") && text.isWellFormed());

  it("come through the shell as they are, on one line", () => {
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), (words) => {
        const line = words.map(quote).join(" ");
        expect(line).not.toContain("\n");
        const script = 'tp_newline="\n"; IFS= read -r words; eval "set -- $words"; printf "%s\\0" "$@"';
        const out = execFileSync("sh", ["-c", script], { input: `${line}\n` });
        expect(out.toString("utf8").split("\0").slice(0, -1)).toEqual(words);
      }),
      { numRuns: 40 },
    );
  });

  it("with a NUL byte are refused", () => {
    expect(() => quote("a\0b")).toThrow(RangeError);
  });

  it("stand at the end of a command's line", () => {
    const command = { key: "K", nonce: "N", kind: "run", cpuSeconds: 1.2, inputBytes: 0 } as const;
    expect(commandLine({ ...command, words: ["a b", "c"] })).toBe("K N run 2 0 'a b' 'c'\n");
    expect(commandLine({ ...command, cpuSeconds: null, words: ["a"] })).toBe("K N run - 0 'a'\n");
    expect(commandLine({ ...command, cpuSeconds: 0.01, words: ["a"] })).toBe("K N run 1 0 'a'\n");
  });
});

describe("a channel", () => {
  /** The far end of an attached container, played by the test. */
  function pair() {
    const lines: string[] = [];
    const stream = new Duplex({
      read() {},
      write(chunk, _, done) {
        lines.push(String(chunk));
        done();
      },
    });
    return { stream, lines, channel: new Channel(stream, "key") };
  }
  const silent = { onStdout: () => {}, onStderr: () => {} };
  const say = (stream: Duplex, text: string) => {
    stream.push(piece("stdout", Buffer.from(text)));
    stream.push(piece("stderr", Buffer.from(text)));
  };

  it("ends a command when both streams have told its end", async () => {
    const { stream, lines, channel } = pair();
    const running = channel.begin({ kind: "run", words: ["true"], ...silent });
    const nonce = lines[0]!.split(" ")[1]!;
    say(stream, `noise\x01${nonce}\n`);
    await running.begun;
    stream.push(piece("stdout", Buffer.from(`\x01${nonce} 3 0 0 0 -\n`)));
    const first = await Promise.race([
      running.ended,
      new Promise((resolve) => setImmediate(() => resolve("open"))),
    ]);
    expect(first).toBe("open");
    stream.push(piece("stderr", Buffer.from(`\x01${nonce} 3 0 0 0 -\n`)));
    expect(await running.ended).toMatchObject({ code: 3 });
  });

  it("fails what runs, and all that comes, when its stream ends; it quotes what a container said last", async () => {
    const { stream, channel } = pair();
    const running = channel.begin({ kind: "run", words: ["true"], ...silent });
    stream.push(piece("stderr", Buffer.from("cp: not found")));
    stream.push(null);
    await expect(running.ended).rejects.toThrow(/cp: not found/);
    await expect(running.begun).rejects.toBeInstanceOf(ChannelLost);
    expect(channel.loss).toBeInstanceOf(ChannelLost);
    await expect(channel.begin({ kind: "run", words: ["true"], ...silent }).ended).rejects.toBeInstanceOf(
      ChannelLost,
    );
  });

  it("is lost when an end makes no sense", async () => {
    const { stream, lines, channel } = pair();
    const running = channel.begin({ kind: "run", words: ["true"], ...silent });
    const nonce = lines[0]!.split(" ")[1]!;
    say(stream, `\x01${nonce}\n\x01${nonce} what\n`);
    await expect(running.ended).rejects.toThrow(/"what"/);
  });

  it("commands with a new key once the old one was exchanged", async () => {
    const { stream, lines, channel } = pair();
    const changed = channel.rekey("f".repeat(32));
    const nonce = lines[0]!.split(" ")[1]!;
    expect(lines[0]).toMatch(/^key \w+ key - 0 '\w{32}'\n$/);
    say(stream, `\x01${nonce}\n\x01${nonce} 0 0 0 0 -\n`);
    await changed;
    expect(channel.currentKey).toBe("f".repeat(32));
    channel.begin({ kind: "run", words: ["true"], ...silent }).ended.catch(() => {});
    expect(lines[1]!.startsWith(`${channel.currentKey} `)).toBe(true);
  });
});
