/** `list`: the experiments on record. */
import type { Command } from "commander";
import { FILTERS } from "../../control/filters.ts";
import { listCommand, timeOf } from "../list-view.ts";

export function register(program: Command): void {
  listCommand(program, {
    name: "list",
    description: "list the experiments on record, by name",
    filters: FILTERS.experiments,
    read: (control) => control.experimentsPage,
    columns: [
      { title: "name", value: ({ name }) => name },
      { title: "seed", align: "right", value: ({ seed }) => seed },
      { title: "status", value: ({ status, hold }) => (hold === null ? status : `${status}, held`) },
      { title: "iterations", align: "right", value: ({ iterations }) => iterations },
      { title: "created", value: timeOf },
    ],
    none: "No experiment: tadpole run quickstart starts one.",
    examples: ["list --json", "list --status done"],
  });
}
