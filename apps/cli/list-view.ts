/** Commands that show a list of the record page by page, with the filters that the list has. */
import type { Command } from "commander";
import type * as Control from "../control/index.ts";
import type { Filter, ListPage, ListRequest, Session } from "../control/index.ts";
import { examples, wantsJson } from "./command.ts";
import { type Column, formatTable, writeJson, writeLine } from "./output.ts";

interface ListCommand<Item> {
  readonly name: string;
  readonly description: string;
  /** The experiment it belongs to comes first on the command line, as `experiment` of the filters. */
  readonly ofExperiment?: boolean;
  readonly filters: Readonly<Record<string, Filter>>;
  readonly read: (
    control: typeof Control,
  ) => (session: Session, request: ListRequest<never>) => Promise<ListPage<Item>>;
  readonly columns: readonly Column<NoInfer<Item>>[];
  /** What a person reads where there is nothing. */
  readonly none: string;
  readonly examples: readonly string[];
}

export function listCommand<Item>(parent: Command, list: ListCommand<Item>): void {
  const command = parent.command(list.name).description(list.description);
  if (list.ofExperiment === true) command.argument("<name>", "name of the experiment (tadpole list)");
  for (const [name, { kind, description }] of Object.entries(list.filters))
    command.option(`--${name} <${kind === "count" ? "n" : "value"}>`, `only those: ${description}`);
  command
    .option("--limit <n>", "items of one page, 1 to 200 (default: 50)")
    .option("--cursor <cursor>", "the page after another one: its next")
    .action(async (...args: unknown[]) => {
      const self = args.at(-1) as Command;
      const given = self.opts<Record<string, string | undefined>>();
      const control = await import("../control/index.ts");
      const { PAGE_LIMIT, readCount, readFilter, withRecord } = control;
      const filters: Record<string, string | number> = {};
      if (list.ofExperiment === true) filters.experiment = args[0] as string;
      for (const [name, filter] of Object.entries(list.filters)) {
        const text = given[name];
        if (text !== undefined) filters[name] = readFilter(name, filter, text);
      }
      const { cursor } = given;
      const limit = given.limit === undefined ? undefined : readCount("limit", given.limit, 1, PAGE_LIMIT);
      const page = await withRecord((session) =>
        list.read(control)(session, { filters, cursor, limit } as never),
      );
      if (wantsJson(self)) return writeJson(page);
      if (page.items.length === 0) return writeLine(list.none);
      writeLine(formatTable(page.items, list.columns));
      if (page.next !== null) writeLine(`\nmore: --cursor ${page.next}`);
    });
  examples(command, list.examples);
}

/** A time of the record as tables show it. */
export const timeOf = ({ created_at }: { readonly created_at: Date }): string => created_at.toISOString();
