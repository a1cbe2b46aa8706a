/** `iteration list`: every try of every iteration of an experiment. */
import type { Command } from "commander";
import { FILTERS } from "../../control/filters.ts";
import { listCommand, timeOf } from "../list-view.ts";

export function register(program: Command): void {
  const iteration = program.command("iteration").description("look at the iterations of an experiment");
  listCommand(iteration, {
    name: "list",
    description: "list every try of every iteration",
    ofExperiment: true,
    filters: FILTERS.iterations,
    read: (control) => control.iterationsPage,
    columns: [
      { title: "iteration", align: "right", value: (found) => found.iteration },
      { title: "try", align: "right", value: (found) => found.try },
      { title: "status", value: (found) => found.status },
      { title: "start policy", value: (found) => found.start_policy },
      { title: "end policy", value: (found) => found.end_policy },
      { title: "replay of try", align: "right", value: (found) => found.base_try },
      { title: "from", value: (found) => found.from_phase },
      { title: "created", value: timeOf },
    ],
    none: "No such iteration.",
    examples: ["iteration list quickstart-1 --status finished"],
  });
}
