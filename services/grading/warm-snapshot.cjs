/** Notices whether code left a mark on what all modules share: built-in objects, globals, Node's own modules. */
"use strict";

// Taken before any tested code runs, which may replace them.
const { ownKeys, getOwnPropertyDescriptor, getPrototypeOf, isExtensible } = Reflect;
const { is } = Object;

/** What tested code usually reaches; loading all of Node's modules would cost more than it protects. */
const NODE_MODULES = [
  ...["assert", "buffer", "events", "fs", "module", "os", "path", "querystring", "stream"],
  ...["string_decoder", "timers", "url", "util"],
];

/** Change in every process, or are put back by the server. */
const VOLATILE = new Set(["exitCode", "mainModule", "argv", "_events", "_eventsCount", "_exiting", "title"]);

function isObject(value) {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** Built-in objects that no global name leads to. */
function hiddenIntrinsics() {
  const iterators = [
    [][Symbol.iterator](),
    ""[Symbol.iterator](),
    new Map()[Symbol.iterator](),
    new Set()[Symbol.iterator](),
  ];
  const functions = [function* () {}, async () => {}, async function* () {}];
  return [
    ...iterators.map(getPrototypeOf),
    getPrototypeOf("a".matchAll(/a/g)),
    getPrototypeOf(Uint8Array),
    ...functions.map(getPrototypeOf),
    ...functions.map((made) => getPrototypeOf(made).prototype).filter(isObject),
  ];
}

/** Everything below `globalThis` but `process` and the console, whose inside lives. */
function collect() {
  const seen = new Set([process, console]);
  const found = [];
  const queue = [globalThis, ...hiddenIntrinsics()];
  while (queue.length > 0) {
    const object = queue.pop();
    if (seen.has(object)) continue;
    seen.add(object);
    found.push(object);
    queue.push(...neighbours(object));
  }
  for (const shallow of [process, console, ...NODE_MODULES.map((name) => require(`node:${name}`))]) {
    if (found.includes(shallow)) continue;
    found.push(shallow);
    for (const key of ownKeys(shallow)) {
      const value = getOwnPropertyDescriptor(shallow, key).value;
      if (typeof value === "function" && isObject(value.prototype) && !seen.has(value.prototype)) {
        seen.add(value.prototype);
        found.push(value.prototype);
      }
    }
  }
  return found;
}

function neighbours(object) {
  const next = [getPrototypeOf(object)];
  for (const key of ownKeys(object)) {
    const { value, get, set } = getOwnPropertyDescriptor(object, key);
    next.push(value, get, set);
  }
  return next.filter(isObject);
}

/** `differs()` is true once any property of the shared objects was added, removed, replaced or frozen. */
function takeSnapshot() {
  const records = collect().map((object) => {
    const keys = ownKeys(object);
    const properties = keys
      .filter((key) => !(object === process && VOLATILE.has(key)))
      .map((key) => ({ key, ...getOwnPropertyDescriptor(object, key) }));
    return {
      object,
      count: keys.length,
      properties,
      prototype: getPrototypeOf(object),
      extensible: isExtensible(object),
    };
  });
  return { differs: () => records.some(hasChanged) };
}

function hasChanged({ object, count, properties, prototype, extensible }) {
  if (object !== process && ownKeys(object).length !== count) return true;
  if (getPrototypeOf(object) !== prototype || isExtensible(object) !== extensible) return true;
  for (const before of properties) {
    const now = getOwnPropertyDescriptor(object, before.key);
    if (
      now === undefined ||
      now.get !== before.get ||
      now.set !== before.set ||
      now.writable !== before.writable
    )
      return true;
    if (!is(now.value, before.value)) return true;
  }
  return false;
}

module.exports = { takeSnapshot };
