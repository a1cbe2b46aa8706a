/**
 * Preload of a recorded test run: notes which calls of the package's exports came before each assertion of tape, or in each test of
 * mocha and node:test. The tests see proxies of
 * the exports; every hook is wrapped so that its own failure leaves the original value in place. The verdict of a run with this
 * preload is never used: what it notes is only a proposal, which is then run without it.
 *
 * Reads TADPOLE_RECORD: JSON {root, tests: [relative path], out: absolute path}. Writes one JSON line per assertion:
 * {"assert": n-th of the run from 1, "ok": boolean, "calls": [{"code", "printed"}] or "same" as the assertion's before}.
 */
const Module = require("node:module");
const fs = require("node:fs");
const path = require("node:path");
const { inspect } = require("node:util");

const MAX_CODE = 300;
const MAX_PRINTED = 600;
const MAX_CALLS = 40;
/** Lines kept, at most: a test that asserts in a long loop must not fill the disk. */
const MAX_LINES = 20_000;

const GLOBALS = new Map(
  ["Boolean", "String", "Number", "Array", "Object", "parseInt", "parseFloat", "isNaN", "BigInt"].map(
    (name) => [globalThis[name], name],
  ),
);

class Unwritable extends Error {}

/** A JavaScript literal that evaluates to an equal value; throws Unwritable where there is none. */
function literal(value, above) {
  if (value === null || value === undefined || typeof value === "boolean") return String(value);
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return functionLiteral(value);
  if (typeof value !== "object" || above.length > 8 || above.includes(value)) throw new Unwritable();
  return objectLiteral(value, [...above, value]);
}

function functionLiteral(value) {
  const target = targets.get(value) ?? value;
  const name = GLOBALS.get(target);
  if (name !== undefined) return name;
  const text = Function.prototype.toString.call(target);
  // A closure shows when the proposal is run: it prints something else.
  if (text.length > 160 || text.includes("[native code]") || /^class\b/.test(text)) throw new Unwritable();
  return text.replace(/\s*\n\s*/g, " ");
}

function objectLiteral(value, above) {
  const prototype = Object.getPrototypeOf(value);
  if (Array.isArray(value)) {
    if (Object.keys(value).length !== value.length || value.length > 100) throw new Unwritable();
    return `[${value.map((item) => literal(item, above)).join(", ")}]`;
  }
  if (prototype === RegExp.prototype && value.lastIndex === 0) return String(value);
  if (prototype === Date.prototype) return `new Date(${value.getTime()})`;
  if (prototype === Map.prototype) return `new Map(${literal([...value], above)})`;
  if (prototype === Set.prototype) return `new Set(${literal([...value], above)})`;
  if (Buffer.isBuffer(value)) return `Buffer.from(${JSON.stringify(value.toString("base64"))}, "base64")`;
  if (prototype !== Object.prototype || Object.getOwnPropertySymbols(value).length > 0)
    throw new Unwritable();
  const keys = Object.keys(value);
  if (keys.length > 60) throw new Unwritable();
  const fields = keys.map((key) => {
    const field = Object.getOwnPropertyDescriptor(value, key);
    if (!("value" in field) || key === "__proto__") throw new Unwritable();
    const name = /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
    return `${name}: ${literal(field.value, above)}`;
  });
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}

/** One line, as the reproduction prints it; null where it would be too long or take several. */
function printed(value) {
  try {
    const text = inspect(value, { depth: null, compact: true, breakLength: Infinity });
    return text.length > MAX_PRINTED || text.includes("\n") ? null : text;
  } catch {
    return null;
  }
}

function printedError(error) {
  try {
    const text = String(error).split("\n")[0];
    return text.length > MAX_PRINTED ? null : text;
  } catch {
    return null;
  }
}

/** Code of a call, or null where an argument cannot be written down. Taken before the call, which may change its arguments. */
function codeOf(callee, args) {
  if (callee === null) return null;
  try {
    const code = `${callee}(${args.map((value) => literal(value, [])).join(", ")})`;
    return code.length > MAX_CODE || code.includes("\n") ? null : code;
  } catch {
    return null;
  }
}

let calls = [];
/** True after an assertion: the next call starts a new list; assertions that follow each other share one. */
let asked = false;
let lines = 0;
let asserted = 0;
let out = -1;

function note(code, text) {
  if (asked) calls = [];
  asked = false;
  if (code !== null && text !== null && calls.length < MAX_CALLS) calls.push({ code, printed: text });
}

function write(line) {
  try {
    if (lines++ < MAX_LINES) fs.writeSync(out, `${JSON.stringify(line)}\n`);
  } catch {
    lines = MAX_LINES;
  }
}

const proxies = new WeakMap();
const targets = new WeakMap();

/** `code` is the expression that gives the value; null where it cannot be written down. */
function wrap(value, code) {
  const kind = typeof value;
  if (value === null || (kind !== "function" && kind !== "object") || targets.has(value)) return value;
  const known = proxies.get(value);
  if (known !== undefined) return known;
  const proxy = new Proxy(value, {
    apply(target, self, args) {
      const call = codeOf(code, args);
      let result;
      try {
        result = Reflect.apply(target, targets.get(self) ?? self, args);
      } catch (error) {
        note(call, printedError(error));
        throw error;
      }
      if (typeof result === "function" && call !== null && !proxies.has(result)) return wrap(result, call);
      note(call, printed(result));
      return result;
    },
    get(target, key, receiver) {
      const found = Reflect.get(target, key, receiver === proxy ? target : receiver);
      const field = Reflect.getOwnPropertyDescriptor(target, key);
      if (typeof found !== "function" || typeof key !== "string" || code === null || field === undefined)
        return found;
      if (!field.configurable && !field.writable) return found;
      return wrap(
        found,
        /^[A-Za-z_$][\w$]*$/.test(key) ? `${code}.${key}` : `${code}[${JSON.stringify(key)}]`,
      );
    },
  });
  proxies.set(value, proxy);
  targets.set(proxy, value);
  return proxy;
}

/** `require("./")` for the package's entry, else `require("./lib/file")`; null for a file that tests may not reach so. */
function requireCode(root, file) {
  const relative = path.relative(root, file);
  if (relative.startsWith("..") || relative.split(path.sep).includes("node_modules")) return null;
  let entry;
  try {
    entry = require.resolve(root);
  } catch {}
  const name = file === entry ? "./" : `./${relative.replace(/\.js$/, "")}`;
  return `require(${JSON.stringify(name)})`;
}

/** Each result a test emits is one line of the TAP report, in this order. */
function hookTape(Test) {
  const emit = Test?.prototype?.emit;
  if (typeof emit !== "function" || Object.hasOwn(Test.prototype, "emit")) return;
  Test.prototype.emit = function (type, result, ...rest) {
    if (type === "result" && result !== null && typeof result === "object") {
      asserted += 1;
      write({ assert: asserted, ok: Boolean(result.ok), calls: asked ? "same" : calls });
      asked = true;
    }
    return Reflect.apply(emit, this, [type, result, ...rest]);
  };
}

/** What was called since the last test began belongs to it. */
function noteTest(name) {
  if (calls.length > 0) write({ test: name, calls });
  calls = [];
}

function hookMocha(Runnable) {
  const run = Runnable?.prototype?.run;
  if (typeof run !== "function" || hooked.has(Runnable)) return;
  hooked.add(Runnable);
  Runnable.prototype.run = function (done) {
    calls = [];
    return Reflect.apply(run, this, [
      (...results) => {
        if (this.type === "test") noteTest(this.fullTitle());
        return Reflect.apply(done, undefined, results);
      },
    ]);
  };
}

/** `test`, `it`, `describe` and a test's own `t.test`, under the names of the tests around them. */
function hookedTest(test, above) {
  return new Proxy(test, {
    apply(target, self, args) {
      const at = args.findLastIndex((value) => typeof value === "function");
      if (at < 0) return Reflect.apply(target, self, args);
      const body = args[at];
      const names = [...above(), typeof args[0] === "string" ? args[0] : body.name];
      // The number of parameters says whether a test waits for a callback.
      const inside = function (...given) {
        const around = running;
        const name = names.join(" > ");
        const end = () => {
          noteTest(name);
          running = around;
        };
        noteTest(around.join(" > "));
        running = names;
        if (typeof given[0]?.test === "function") given[0] = hookedContext(given[0], names);
        let result;
        try {
          result = Reflect.apply(body, this, given);
        } catch (error) {
          end();
          throw error;
        }
        if (typeof result?.then === "function") return result.finally(end);
        end();
        return result;
      };
      Object.defineProperty(inside, "length", { value: body.length });
      return Reflect.apply(target, self, args.with(at, inside));
    },
    get(target, key) {
      const found = Reflect.get(target, key);
      return ["test", "it", "describe", "suite"].includes(key) ? hookedTest(found, above) : found;
    },
  });
}

function hookedContext(context, names) {
  return new Proxy(context, {
    get(target, key) {
      const found = Reflect.get(target, key);
      if (typeof found !== "function") return found;
      return key === "test" ? hookedTest(found.bind(target), () => names) : found.bind(target);
    },
  });
}

const hooked = new WeakSet();
/** Names of the running tests of node:test, outermost first. */
let running = [];

function install() {
  // The runner of node:test only starts a process for each file.
  if (process.execArgv.includes("--test")) return;
  const { root, tests, out: file, append } = JSON.parse(process.env.TADPOLE_RECORD);
  delete process.env.TADPOLE_RECORD;
  out = fs.openSync(file, append ? "a" : "w");
  const testFiles = new Set(tests.map((test) => path.join(root, test)));
  const load = Module._load;
  Module._load = function (request, parent, isMain) {
    const loaded = Reflect.apply(load, this, [request, parent, isMain]);
    try {
      const resolved = Module._resolveFilename(request, parent, isMain);
      if (/[\\/]mocha[\\/]lib[\\/]runnable\.js$/.test(resolved)) hookMocha(loaded);
      if (resolved === "node:test" && testFiles.has(parent?.filename))
        return hookedTest(loaded, () => running);
      if (/[\\/]tape?[\\/]lib[\\/]test\.js$/.test(resolved)) hookTape(loaded);
      if (!testFiles.has(parent?.filename) || testFiles.has(resolved) || !path.isAbsolute(resolved))
        return loaded;
      const code = requireCode(root, resolved);
      return code === null ? loaded : wrap(loaded, code);
    } catch {
      return loaded;
    }
  };
}

try {
  install();
} catch {
  // Without its hooks the run is an ordinary one: nothing is proposed.
}
