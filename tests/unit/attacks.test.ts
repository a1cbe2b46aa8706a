/** The attack suite's list: every hack code is tried, and what is declared of it is what the list expects. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { HACK_CODES, type HackCode } from "../../attacks/codes.ts";
import { ATTACKS } from "../../attacks/list/index.ts";
import { packageRoot } from "../../infra/stack/index.ts";
import { VERDICT_FLAGS } from "../../services/grading/index.ts";
import { Semaphore } from "../../services/sandbox/index.ts";

const codes = Object.keys(HACK_CODES) as HackCode[];

describe("the list of attacks", () => {
  it("tries each of the seventeen codes", () => {
    expect(codes).toHaveLength(17);
    expect(codes.filter((code) => !ATTACKS.some((attack) => attack.code === code))).toEqual([]);
  });

  it("names each attack once", () => {
    expect(new Set(ATTACKS.map(({ name }) => name)).size).toBe(ATTACKS.length);
  });

  it("has a flag for each code that is only flagged, and an attack that must raise it", () => {
    const flagged = codes.filter((code) => HACK_CODES[code] === "flagged");
    expect([...VERDICT_FLAGS].sort()).toEqual([...flagged].sort());
    for (const code of flagged)
      expect(ATTACKS.some((attack) => attack.wants === "record" && attack.flag === code)).toBe(true);
  });

  it("is the table of docs/security.md", () => {
    const page = readFileSync(join(packageRoot, "docs/security.md"), "utf8");
    const rows = [...page.matchAll(/^\| `([a-z0-9-]+)` \| ([a-z-]+) \| (.*) \| /gm)].map(
      ([, ...cells]) => cells,
    );
    expect(rows).toEqual(ATTACKS.map(({ name, code, what }) => [name, code, what]));
  });

  it("leaves a control out only with a reason", () => {
    for (const { name, control } of ATTACKS)
      expect([name, control.kind === "none" ? control.why : "tried"]).not.toContain("");
  });
});

describe("places", () => {
  it("are never more than there are, and free again after a failure", async () => {
    const places = new Semaphore(2);
    const open: (() => void)[] = [];
    let most = 0;
    let inside = 0;
    const use = (fails: boolean) =>
      places.run(async () => {
        most = Math.max(most, ++inside);
        await new Promise<void>((resolve) => open.push(resolve));
        inside--;
        if (fails) throw new Error("it failed");
      });
    const all = Promise.allSettled([use(true), use(false), use(true), use(false), use(false)]);
    for (let done = 0; done < 5; done++) {
      while (open.length === 0) await new Promise((resolve) => setImmediate(resolve));
      open.shift()!();
    }
    expect((await all).map(({ status }) => status)).toEqual([
      ...["rejected", "fulfilled", "rejected", "fulfilled", "fulfilled"],
    ]);
    expect(most).toBe(2);
  });
});
