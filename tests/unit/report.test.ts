/** The report's parts without a database: escaping, scales, plots, and pages of experiments that have hardly begun. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LabelledReport } from "../../apps/control/index.ts";
import { readableArguments, shortened } from "../../apps/report/example.ts";
import { escapeHtml, html } from "../../apps/report/html.ts";
import { renderReport } from "../../apps/report/index.ts";
import { axis, groupedBars, linePlot, stackedBars } from "../../apps/report/plot.ts";
import { compact, duration, integerTicks, linear, niceStep, ticks } from "../../apps/report/scale.ts";
import { changes, settingRows } from "../../apps/report/settings.ts";
import { NO_COST } from "../../core/cost.ts";
import { NO_TOKENS } from "../../core/spend.ts";
import {
  policyRef,
  rolloutRow,
  testSettings,
  testStatement,
  testTask,
  testTrajectory,
} from "../support/record.ts";

const VOID = new Set(["meta", "!doctype"]);

/** Names of the elements in order, or throws where tags do not nest: what a browser would have to guess at. */
function elements(markup: string): string[] {
  const open: string[] = [];
  const seen: string[] = [];
  const content = markup.replace(/<style>[^<]*<\/style>/, "");
  const rest = content.replace(
    /<(\/?)([!a-z][a-z0-9]*)((?:\s+[a-zA-Z][\w:-]*(?:="[^"<>]*")?)*)\s*(\/?)>/g,
    (_, close, name, _attributes, self) => {
      if (close) expect(open.pop()).toBe(name);
      else {
        seen.push(name);
        if (!self && !VOID.has(name)) open.push(name);
      }
      return "";
    },
  );
  expect(open).toEqual([]);
  expect(rest).not.toMatch(/[<>]/);
  return seen;
}

function dots(markup: string): number {
  return elements(markup).filter((name) => name === "circle").length;
}

const anything = fc.string({ unit: "binary", maxLength: 30 });
const finite = fc.double({ min: -1e9, max: 1e9, noNaN: true });

describe("escaping", () => {
  it("lets no text become markup, in elements and attributes", () => {
    fc.assert(
      fc.property(anything, anything, (text, title) => {
        expect(elements(html`<p title="${title}">${text}</p>`.markup)).toEqual(["p"]);
      }),
    );
  });

  it("shows what would hide or reorder text", () => {
    expect(escapeHtml(`<b a="x">&'\0\u001b\u202e\ud800é😀\n`)).toBe(
      "&lt;b a=&quot;x&quot;&gt;&amp;&#39;␀␛⟨U+202E⟩\ufffdé😀\n",
    );
  });

  it("escapes once, joins lists and leaves nothing out but nothing", () => {
    const inner = html`<i>${"&"}</i>`;
    expect(html`${[inner, " ", 0, null, undefined, false, [1]]}`.markup).toBe("<i>&amp;</i> 01");
  });
});

describe("scales", () => {
  it("put ticks around every value, evenly, and few of them", () => {
    fc.assert(
      fc.property(finite, finite, (a, b) => {
        const [min, max] = [Math.min(a, b), Math.max(a, b)];
        const chosen = ticks(min, max);
        const rounding = 1e-9 * Math.max(1, Math.abs(min), Math.abs(max));
        expect(chosen[0]).toBeLessThanOrEqual(min + rounding);
        expect(chosen.at(-1)).toBeGreaterThanOrEqual(max - rounding);
        expect(new Set(chosen).size).toBe(chosen.length);
        expect(chosen.length).toBeGreaterThanOrEqual(2);
        expect(chosen.length).toBeLessThanOrEqual(10);
      }),
    );
  });

  it.each([
    [0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]],
    [0.12, 0.31, [0.1, 0.15, 0.2, 0.25, 0.3, 0.35]],
    [-3, 8, [-4, -2, 0, 2, 4, 6, 8]],
    [5, 5, [2, 3, 4, 5, 6, 7, 8]],
  ])("put round ticks from %s to %s", (min, max, expected) => {
    expect(ticks(min, max)).toEqual(expected);
  });

  it("choose steps of 1, 2 or 5", () => {
    expect([1, 1.9, 4, 8, 40, 0.03].map((span) => niceStep(span, 1))).toEqual([1, 2, 5, 10, 50, 0.02]);
  });

  it("map linearly, and a domain without width to the middle", () => {
    expect([0, 5, 10].map(linear(0, 10, 100, 0))).toEqual([100, 50, 0]);
    expect(linear(3, 3, 0, 10)(3)).toBe(5);
  });

  it("thin integer ticks", () => {
    expect(integerTicks(1, 5, 12)).toEqual([1, 2, 3, 4, 5]);
    expect(integerTicks(1, 36, 12)).toEqual([1, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 34]);
  });

  it("spell numbers and times", () => {
    expect([0, 0.12345, -2, 1234567, 0.00001].map(compact)).toEqual(["0", "0.123", "-2", "1.2e+6", "1.0e-5"]);
    expect([4.4, 59.6, 200, 3600, 7500, 86399].map(duration)).toEqual([
      "4 s",
      "1 min 0 s",
      "3 min 20 s",
      "1 h 0 min",
      "2 h 5 min",
      "24 h 0 min",
    ]);
  });
});

describe("plots", () => {
  const point = fc.record({ x: finite, y: fc.double({ min: 0, max: 1, noNaN: true }), label: anything });

  it("draw every point as a dot, inside the picture, whatever its label says", () => {
    fc.assert(
      fc.property(fc.array(fc.array(point, { minLength: 1, maxLength: 6 }), { maxLength: 3 }), (runs) => {
        const xs = runs.flat().map(({ x }) => x);
        const { markup } = linePlot({
          description: "d",
          x: axis("x", 0, 1, String),
          y: axis("y", 0, 1, String),
          domain: [Math.min(0, ...xs), Math.max(1, ...xs)],
          lines: [{ tone: 1, runs }],
        });
        expect(dots(markup)).toBe(runs.flat().length);
        for (const [, cx, cy] of markup.matchAll(/cx="([^"]+)" cy="([^"]+)"/g)) {
          expect(Number(cx)).toSatisfy((value: number) => value >= 64 && value <= 506);
          expect(Number(cy)).toSatisfy((value: number) => value >= 24 && value <= 208);
        }
      }),
      { numRuns: 40 },
    );
  });

  it("draw an interval from low to high", () => {
    const { markup } = linePlot({
      description: "d",
      x: axis("x", 0, 1, String, 1),
      y: axis("y", 0, 1, String, 1),
      domain: [0, 1],
      lines: [{ tone: 1, runs: [[{ x: 0, y: 0.5, low: 0, high: 1, label: "l" }]] }],
    });
    expect(markup).toContain('d="M70 208h8M70 24h8M74 208V24"');
    expect(markup).toContain('cx="74" cy="116"');
  });

  it("draw bars in proportion, none for zero, and the region behind them", () => {
    const { markup } = groupedBars({
      description: "d",
      categories: ["0/2", "1/2", "2/2"],
      xLabel: "passes",
      yLabel: "tasks",
      series: [{ name: "first", tone: 0, values: [4, 2, 0] }],
      region: { from: 1, to: 1, text: "admitted" },
    });
    const heights = [...markup.matchAll(/class="bar"[^>]* height="([^"]+)"/g)].map(([, height]) =>
      Number(height),
    );
    expect(heights).toHaveLength(2);
    expect(heights[0]! / heights[1]!).toBeCloseTo(2);
    expect(elements(markup).filter((name) => name === "rect")).toHaveLength(3);
    expect(markup).toContain("1/2: 2 first");
  });

  it("stack parts side by side to one scale", () => {
    const { markup } = stackedBars("d", [
      {
        label: "one",
        text: "4",
        parts: [
          { name: "a", tone: 1, value: 1 },
          { name: "b", tone: 2, value: 3 },
        ],
      },
      { label: "two", text: "0", parts: [{ name: "a", tone: 1, value: 0 }] },
    ]);
    const widths = [...markup.matchAll(/class="bar"[^>]* width="([^"]+)"/g)].map(
      ([, width]) => Number(width) + 1,
    );
    expect(widths).toHaveLength(2);
    expect(widths[1]! / widths[0]!).toBeCloseTo(3);
  });
});

describe("an example", () => {
  it("shows arguments by name, or as they were written", () => {
    expect(readableArguments('{"command":"ls","timeout":5}')).toBe("command: ls\ntimeout: 5");
    for (const text of ["{}x", "[1]", "null", '"s"', ""]) expect(readableArguments(text)).toBe(text);
  });

  it("cuts long texts and says so", () => {
    expect(shortened("a".repeat(2000))).toHaveLength(2000);
    expect(shortened("a".repeat(2005))).toMatch(/a\n… 5 more characters$/);
  });
});

const NOTHING_SPENT: LabelledReport["cost"] = {
  entries: [],
  yields: [],
  updates: 0,
  attempts: { failed: 0, superseded: 0, open: 0 },
  settings: {
    budget: { usd: null, authorTokens: null, sandboxHours: null },
    prices: {},
    policyModel: "nano",
  },
};

function reportData(change: Partial<LabelledReport> = {}): LabelledReport {
  return {
    summary: {
      name: "demo",
      seed: 1,
      status: "running",
      error: null,
      createdAt: "2026-01-02T03:04:05.000Z",
      policy: null,
      iterations: [],
      rollouts: 0,
      timings: { seconds: 0, phases: [] },
    },
    stale: [],
    settings: testSettings(),
    inForce: [],
    codeVersion: "0.1.0",
    pools: [],
    updates: [],
    mix: [],
    cost: NOTHING_SPENT,
    tasks: { experiment: "demo", admitted: false, shown: [], total: 0 },
    examples: [],
    ...change,
  };
}

describe("a report", () => {
  it("says how many tasks it has no room for, and how to see them", () => {
    const page = renderReport(
      reportData({ tasks: { experiment: "demo", admitted: true, shown: [], total: 1 } }),
    );
    expect(page).toContain("1 more task is not shown");
    expect(page).toContain("tadpole task list --experiment demo --outcome admitted");
    expect(renderReport(reportData())).not.toContain("Admitted tasks");
  });

  it("of an experiment that has just begun says what is not there yet", () => {
    const page = renderReport(reportData());
    expect(elements(page)).not.toContain("svg");
    for (const text of [
      "Nothing has been evaluated yet",
      "No task has been probed yet",
      "No update has been made yet",
      "No rollout has been graded yet",
    ])
      expect(page).toContain(text);
    expect(page).toContain("say nothing about language models");
  });

  it("asks the network for nothing and runs nothing", () => {
    const page = renderReport(reportData(), [{ text: "UI", href: "http://127.0.0.1:8233/" }]);
    expect(elements(page).filter((name) => ["script", "link", "img", "iframe"].includes(name))).toEqual([]);
    expect(page.match(/(?:src|href|url)\s*[=(]\s*"?[^" )]*/g)).toEqual(['href="http://127.0.0.1:8233/']);
    expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`);
    expect(() => renderReport(reportData(), [{ text: "x", href: "javascript:alert(1)" }])).toThrow(TypeError);
  });

  it("escapes whatever an agent, a task or a name says", () => {
    const evil = `</pre><script>alert("${"x"}")</script>\0`;
    const trajectory = testTrajectory(policyRef("start").id, evil);
    const [, , call] = trajectory.messages;
    const messages = [
      ...trajectory.messages.slice(0, 2),
      { ...call, content: evil, toolCalls: [{ id: "c", name: evil, arguments: evil }] },
      { role: "tool", toolCallId: "c", content: evil },
    ] as typeof trajectory.messages;
    const {
      change: _,
      trajectory: __,
      ...row
    } = {
      ...rolloutRow("demo/0/0", { trajectory: {}, outcome: "failed", rule: evil }),
      created_at: new Date(0),
    };
    const page = renderReport(
      reportData({
        summary: { ...reportData().summary, name: evil, error: evil },
        examples: [
          {
            caption: evil,
            rollout: {
              row: row as never,
              statement: testStatement(testTask(0).id, 1, evil),
              change: [{ kind: "delete", path: evil }],
              flags: [],
              trajectory: { ...trajectory, messages },
            },
          },
        ],
      }),
    );
    expect(elements(page)).not.toContain("script");
    expect(page.split("&lt;script&gt;").length - 1).toBeGreaterThanOrEqual(10);
  });

  it("shows what each iteration cost by phase, in money where there is any, and what it leaves out", () => {
    const part = { ...NO_COST, phase: "climb", iteration: 1, generator: null, task: null } as const;
    const tokens = { ...NO_TOKENS, prompt: 1234, text: 10 };
    const entries = [
      { ...part, rollouts: 3, tokens, usd: 0.5 },
      { ...part, iteration: 2, phase: "probe", rollouts: 1, tokens, usd: 0.25, unpricedSeconds: 61 } as const,
      { ...part, iteration: 0, phase: "evaluate", rollouts: 2, uncountedRollouts: 2 } as const,
    ];
    const page = renderReport(reportData({ cost: { ...NOTHING_SPENT, entries } }));
    elements(page);
    for (const text of ["US dollars per iteration", "$0.75", "iteration 2: probing them, $0.25", "2,468"])
      expect(page).toContain(text);
    expect(page).toContain("Without a price: 0 tokens, 1 min 1 s of sandboxes. Tokens of 2 rollouts");
    const unpriced = entries.map((entry) => ({ ...entry, usd: 0 }));
    const tokensOnly = renderReport(reportData({ cost: { ...NOTHING_SPENT, entries: unpriced } }));
    expect(tokensOnly).toContain("Tokens per iteration");
    expect(renderReport(reportData())).not.toContain("per iteration");
  });

  it("draws one dot per set, mode and iteration measured", () => {
    const measured = (set: string, mode: string) => ({
      set,
      mode,
      policy: "p",
      tasks: 40,
      samples: 2,
      passAt1: 0.5,
      low: 0.4,
      high: 0.6,
    });
    const iterations = [0, 1].map((iteration) => ({
      iteration,
      try: 1,
      status: "finished",
      stale: false,
      policy: { id: "p", sha256: "0" },
      evaluation: { ...measured("", "sampled"), passAt1: 0.25 + 0.5 * iteration },
      greedy: null,
      evaluations: [
        // By what an earlier try of the iteration ended with.
        { ...measured("unseen", "sampled"), policy: "earlier", passAt1: 0.987 },
        measured("unseen", "sampled"),
        measured("unseen", "greedy"),
        measured("validation", "validation-1"),
      ],
      pool: null,
      pieces: null,
    }));
    const page = renderReport(reportData({ summary: { ...reportData().summary, iterations } }));
    expect(dots(page)).toBe(4);
    expect(page).toContain("25.0 % → 75.0 %");
    expect(page).toContain("+50.0");
    expect(page).not.toContain("validation-1");
    expect(page).not.toContain("98.7");
  });
});

describe("settings", () => {
  it("are listed by path, lists in one line", () => {
    expect(settingRows({ a: { b: 1, c: ["x", "y"], d: [] }, e: null, f: [{ g: 1 }] })).toEqual([
      ["a.b", "1"],
      ["a.c", "x, y"],
      ["a.d", "none"],
      ["e", "null"],
      ["f", '{"g":1}'],
    ]);
  });

  it("say from when on another value is in force, and when the first one is again", () => {
    expect(
      changes("8", [
        [1, "8"],
        [2, "8"],
      ]),
    ).toBeNull();
    expect(
      changes("8", [
        [1, "4"],
        [2, "4"],
        [3, "8"],
        [5, "2"],
      ]),
    ).toBe("4 from iteration 1 on, 8 from iteration 3 on, 2 from iteration 5 on");
  });
});
