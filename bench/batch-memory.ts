/**
 * A process that makes a batch of rows, writes it and reads it back, with the memory limits of the stack's own workers: `node bench/batch-memory.ts FILE
 * SEED GROUPS SIZE TOKENS`. Prints {"write", "read", "bytes"}: the most memory that each took on top of what was there before, and the file's size.
 */
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { batchParts, decodeBatch, encodeBatch } from "../services/trainers/index.ts";
import { batchRows } from "./batch-rows.ts";

function kilobytes(name: "VmRSS" | "VmHWM"): number {
  return Number(
    new RegExp(`^${name}:\\s*(\\d+) kB$`, "m").exec(readFileSync("/proc/self/status", "utf8"))![1],
  );
}

/** Bytes on top of what was resident before, by the kernel's own high-water mark. */
async function growth(work: () => void): Promise<number> {
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.();
    await sleep(50);
  }
  writeFileSync("/proc/self/clear_refs", "5");
  const before = kilobytes("VmRSS");
  work();
  return (kilobytes("VmHWM") - before) * 1024;
}

function writeVectors(path: string, parts: readonly Uint8Array[]): void {
  const descriptor = openSync(path, "w");
  for (const part of parts) writeSync(descriptor, part);
  closeSync(descriptor);
}

const [file, ...numbers] = process.argv.slice(2);
const [seed, groups, size, tokens] = numbers.map(Number);
// Code that is compiled and pages that are mapped for the first batch are there for every later one.
decodeBatch(encodeBatch(batchRows(seed!, 1, 2, 100)));
const rows = batchRows(seed!, groups!, size!, tokens!);
const write = await growth(() => writeVectors(file!, batchParts(rows)));
const read = await growth(() => void decodeBatch(readFileSync(file!)));
console.log(JSON.stringify({ write, read, bytes: readFileSync(file!).length }));
