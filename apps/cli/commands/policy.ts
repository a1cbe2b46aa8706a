/** `policy list | show | export`. */
import { writeFile } from "node:fs/promises";
import type { Command } from "commander";
import { FILTERS } from "../../control/filters.ts";
import { wantsJson } from "../command.ts";
import { listCommand } from "../list-view.ts";
import { writeJson, writeLine } from "../output.ts";

export function register(program: Command): void {
  const policy = program.command("policy").description("look at policies and take them out");
  listCommand(policy, {
    name: "list",
    description: "list the policies on record, by id",
    filters: FILTERS.policies,
    read: (control) => control.policiesPage,
    columns: [
      { title: "policy", value: ({ id }) => id },
      { title: "step", align: "right", value: ({ step }) => step },
      { title: "parent", value: ({ parent }) => parent },
      { title: "sha256", value: ({ sha256 }) => sha256 },
    ],
    none: "No such policy.",
    examples: ["policy list --json"],
  });
  policy
    .command("show")
    .description("show a policy: its parent, step and checkpoint")
    .argument("<id>", "id of the policy (tadpole policy list)")
    .action(async (id: string, _options: unknown, command: Command) => {
      const { showPolicy, withRecord } = await import("../../control/index.ts");
      const found = await withRecord((session) => showPolicy(session, id));
      if (wantsJson(command)) return writeJson(found);
      writeLine(
        `policy ${found.id} (${found.kind}) · step ${found.step} · parent ${found.parent ?? "none: a start policy"}`,
      );
      writeLine(`checkpoint ${found.checkpoint.bytes} bytes · sha256 ${found.checkpoint.sha256}`);
    });
  policy
    .command("export")
    .description("write a policy's checkpoint (safetensors) to a file")
    .argument("<id>", "id of the policy (tadpole policy list)")
    .argument("<file>", "file to write; must not exist")
    .addHelpText("after", "\nExample:\n  tadpole policy export nano-0123456789abcdef policy.safetensors")
    .action(async (id: string, file: string, _options: unknown, command: Command) => {
      const { exportPolicy, withRecord } = await import("../../control/index.ts");
      const bytes = await withRecord((session) => exportPolicy(session, id));
      await writeFile(file, bytes, { flag: "wx" });
      if (wantsJson(command)) writeJson({ policy: id, file, bytes: bytes.byteLength });
      else writeLine(`wrote ${bytes.byteLength} bytes to ${file}`);
    });
}
