/** `list`: the experiments on record. */
import type { Command } from "commander";
import { clipped } from "../../../core/descriptions.ts";
import { FILTERS } from "../../control/filters.ts";
import { listCommand, timeOf } from "../list-view.ts";

/** Cause of an end in a table; `show` and `state` have all of it. */
const WHY_LENGTH = 100;

export function register(program: Command): void {
  listCommand(program, {
    name: "list",
    description: "list the experiments on record, by name",
    filters: FILTERS.experiments,
    read: (control) => control.experimentsPage,
    columns: [
      { title: "name", value: ({ name }) => name },
      { title: "seed", align: "right", value: ({ seed }) => seed },
      {
        title: "status",
        value: ({ status, hold, unattended }) =>
          `${status}${hold === null ? "" : ", held"}${unattended === true ? ", but nothing runs it" : ""}`,
      },
      { title: "iterations", align: "right", value: ({ iterations }) => iterations },
      { title: "created", value: timeOf },
      {
        title: "why",
        value: ({ error }) => (error === null ? null : clipped(error, WHY_LENGTH)),
      },
    ],
    none: "No experiment: tadpole run quickstart starts one.",
    examples: ["list --json", "list --status done"],
  });
}
