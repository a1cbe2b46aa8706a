/**
 * A cache of compiled Go packages in two layers (GOCACHEPROG): a read-only folder filled beforehand, and one of the sandbox's own below /tmp. Speaks the
 * protocol of `go help cacheprog`: requests and answers are lines of JSON, a body is a base64 string on its own line.
 *
 * Usage: node serve.cjs <read-only folder in the form of a GOCACHE>
 */
"use strict";
const { createHash } = require("node:crypto");
const { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");
const { createInterface } = require("node:readline");

const READ_ONLY = process.argv[2];
const OWN = "/tmp/go-objects";

/** Go's own form: `<first byte>/<hash>-a` names an action's output, `<first byte>/<hash>-d` holds it. */
const pathIn = (folder, id, kind) => join(folder, id.slice(0, 2), `${id}-${kind}`);

const hexOf = (base64) => Buffer.from(base64, "base64").toString("hex");

/** The entry of an action: `v1 <action> <output> <size> <time>`. */
function lookUp(action) {
  for (const folder of [OWN, READ_ONLY]) {
    const entry = pathIn(folder, action, "a");
    if (!existsSync(entry)) continue;
    const [, , output, size] = readFileSync(entry, "latin1").split(/ +/);
    const disk = pathIn(folder, output, "d");
    if (existsSync(disk) && statSync(disk).size === Number(size)) return { output, disk, size: Number(size) };
  }
  return undefined;
}

function get({ ID, ActionID }) {
  const found = lookUp(hexOf(ActionID));
  if (found === undefined) return { ID, Miss: true };
  const OutputID = Buffer.from(found.output, "hex").toString("base64");
  return { ID, OutputID, Size: found.size, DiskPath: found.disk, Time: "2020-01-01T00:00:00Z" };
}

/** Whole or not at all: two commands of one sandbox may compile at once. */
function write(path, bytes) {
  mkdirSync(join(path, ".."), { recursive: true });
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, bytes);
  renameSync(temporary, path);
}

function put({ ID, ActionID, OutputID }, body) {
  const [action, output] = [hexOf(ActionID), hexOf(OutputID)];
  const disk = pathIn(OWN, output, "d");
  if (createHash("sha256").update(body).digest("hex") !== output)
    return { ID, Err: "the body is not the output" };
  write(disk, body);
  write(pathIn(OWN, action, "a"), `v1 ${action} ${output} ${body.length} 0\n`);
  return { ID, DiskPath: disk };
}

const answer = (response) => process.stdout.write(`${JSON.stringify(response)}\n`);

function handle(request, body) {
  try {
    if (request.Command === "get") answer(get(request));
    else if (request.Command === "put") answer(put(request, body));
    else answer({ ID: request.ID });
  } catch (error) {
    answer({ ID: request.ID, Err: error.message });
  }
}

let waiting;
answer({ ID: 0, KnownCommands: ["get", "put", "close"] });
createInterface({ input: process.stdin }).on("line", (line) => {
  if (line === "") return;
  if (waiting !== undefined) {
    const request = waiting;
    waiting = undefined;
    return handle(request, Buffer.from(JSON.parse(line), "base64"));
  }
  const request = JSON.parse(line);
  if (request.Command === "put" && request.BodySize > 0) waiting = request;
  else handle(request, Buffer.alloc(0));
});
