/** `engines`: what each engine serves, since when, and why one is out. */
import type { Command } from "commander";
import { examples, wantsJson } from "../command.ts";
import { formatTable, writeJson, writeLine } from "../output.ts";

export function register(program: Command): void {
  const command = program
    .command("engines")
    .description("show what each inference engine serves, since when, and why one is kept from serving")
    .action(async (_options: unknown, self: Command) => {
      const { listServed, withRecord } = await import("../../control/index.ts");
      const found = await withRecord((session) => listServed(session));
      if (wantsJson(self)) return writeJson(found);
      const { engines } = found;
      if (engines.length === 0) return writeLine("nothing was published to an engine yet");
      writeLine(
        formatTable(engines, [
          { title: "engine", value: ({ url }) => url },
          { title: "state", value: ({ state }) => state },
          { title: "policy", value: ({ policy }) => policy },
          { title: "since", value: ({ since }) => since.slice(0, 19).replace("T", " ") },
        ]),
      );
      for (const { url, state, why, target } of engines)
        if (state !== "serving") writeLine(`${url}: to serve ${target}${why === null ? "" : `; ${why}`}`);
    });
  examples(command, ["engines", "engines --json"]);
}
