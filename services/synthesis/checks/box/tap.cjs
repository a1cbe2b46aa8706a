/** Prints results as TAP and ends as tape does. Runs in the judging box. */
"use strict";

/** `results`: `{name, ok, note}` each; a note is for people, and no name. */
module.exports = function report(title, results) {
  const lines = ["TAP version 13", `# ${title}`];
  for (const [i, { name, ok, note }] of results.entries()) {
    lines.push(`${ok ? "ok" : "not ok"} ${i + 1} ${name}`);
    if (note) lines.push(`  ${note}`);
  }
  process.stdout.write(`${lines.join("\n")}\n1..${results.length}\n`);
  process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;
};
