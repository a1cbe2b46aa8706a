/** The report's style sheet: system fonts, light and dark by the reader's preference, plain on paper. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --page: #ffffff; --panel: #f7f8fa; --line: #d9dde3; --text: #1b1f24; --soft: #57606c;
  --good: #1a7348; --bad: #b02a47; --region: #2563b81a;
  --tone-0: #9aa1ab; --tone-1: #2563b8; --tone-2: #c2570c; --tone-3: #1d8055; --tone-4: #7d4bb5; --tone-5: #b3304f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171b; --panel: #1c2026; --line: #353b44; --text: #e7eaee; --soft: #a3acb8;
    --good: #5cc998; --bad: #f2879d; --region: #6ea8f024;
    --tone-0: #737c88; --tone-1: #6ea8f0; --tone-2: #f0975a; --tone-3: #55c595; --tone-4: #b794f0; --tone-5: #ef7f97;
  }
}
@media print {
  :root {
    color-scheme: light;
    --page: #ffffff; --panel: #ffffff; --line: #c4c9d0; --text: #000000; --soft: #444b55;
    --good: #1a7348; --bad: #b02a47; --region: #2563b81a;
    --tone-0: #9aa1ab; --tone-1: #2563b8; --tone-2: #c2570c; --tone-3: #1d8055; --tone-4: #7d4bb5; --tone-5: #b3304f;
  }
  figure, .tile, tr, .call { break-inside: avoid; }
  h2, h3, h4 { break-after: avoid; }
  pre { max-height: none !important; }
  .example::details-content { content-visibility: visible; }
  nav { display: none; }
}
.tone-0 { --c: var(--tone-0); } .tone-1 { --c: var(--tone-1); } .tone-2 { --c: var(--tone-2); }
.tone-3 { --c: var(--tone-3); } .tone-4 { --c: var(--tone-4); } .tone-5 { --c: var(--tone-5); }
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 70rem; background: var(--page); color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
}
h1 { margin: 0; font-size: 1.9rem; line-height: 1.2; }
h2 { margin: 2.6rem 0 .8rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); font-size: 1.3rem; }
h3 { margin: 0; font-size: 1rem; }
h4 { margin: 1rem 0 .3rem; font-size: .9rem; color: var(--soft); }
p { margin: .4rem 0; max-width: 48rem; }
a { color: var(--tone-1); }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; font-size: .86em; }
.kicker, .meta, .facts, .interval, .empty, figcaption p { color: var(--soft); font-size: .88rem; }
.kicker { margin: 0 0 .2rem; }
.meta { margin: .5rem 0 0; }
.meta span { display: inline-block; margin-right: 1.2rem; }
.notice { margin: 1rem 0; padding: .6rem .9rem; border-left: 4px solid var(--tone-2); background: var(--panel); }
.notice.bad { border-color: var(--bad); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(12.5rem, 1fr)); gap: .8rem; margin: 1.4rem 0; }
.tile { padding: .8rem 1rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--panel); }
.tile b { display: block; font-size: 1.5rem; line-height: 1.25; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: .85rem; }
.grid-2 { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 1rem; margin: 1rem 0; }
figure { margin: 1rem 0; padding: .9rem 1rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--panel); min-width: 0; }
.grid-2 figure { margin: 0; }
figcaption p { margin: .1rem 0 .4rem; }
svg { display: block; width: 100%; height: auto; margin-top: .4rem; }
svg text { fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
svg .value { fill: var(--text); }
svg .grid { stroke: var(--line); stroke-width: .8; }
svg .base { stroke: var(--soft); }
svg .mark { stroke: var(--soft); stroke-dasharray: 2 3; }
svg .region { fill: var(--region); }
svg .line { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round; }
svg .line.dashed { stroke-dasharray: 5 4; stroke-width: 1.5; }
svg .whisker { fill: none; stroke: var(--c); stroke-width: 1.3; opacity: .75; }
svg .dot, svg .bar { fill: var(--c); }
svg .dot.hollow { fill: var(--panel); stroke: var(--c); stroke-width: 1.5; }
.size { display: block; font-weight: 400; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin: .2rem 0 0; padding: 0; list-style: none; font-size: .85rem; }
.swatch { display: inline-block; width: 1.3em; margin-right: .4em; border-top: .28em solid var(--c); vertical-align: middle; }
.swatch.dashed { border-top-style: dashed; border-top-width: .18em; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: baseline; white-space: nowrap; }
thead th { color: var(--soft); font-weight: 600; font-size: .82rem; white-space: normal; }
tbody th { font-weight: 600; }
summary { cursor: pointer; }
.data { margin-top: .5rem; font-size: .85rem; color: var(--soft); }
.example { margin: .8rem 0; padding: .7rem 1rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--panel); }
.example > summary { font-weight: 600; }
.example > summary .facts { display: block; font-weight: 400; }
.verdict { padding: .05rem .5rem; border: 1px solid currentColor; border-radius: 1rem; font-size: .82rem; }
.verdict.passed { color: var(--good); } .verdict.failed { color: var(--bad); }
pre { margin: .3rem 0; padding: .5rem .7rem; max-height: 15rem; overflow: auto; border: 1px solid var(--line); border-radius: .35rem; background: var(--page); white-space: pre-wrap; overflow-wrap: anywhere; }
.evidence { white-space: normal; overflow-wrap: anywhere; }
.result { color: var(--soft); }
.turns { padding-left: 1.6rem; } .turns > li { margin: .6rem 0; }
.reply { white-space: pre-wrap; overflow-wrap: anywhere; }
.call { margin: .3rem 0 .6rem; } .call p { margin: 0; }
.tool { font-weight: 600; font-size: .86rem; color: var(--tone-4); }
`;
