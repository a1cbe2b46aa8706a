/** `policy list | show | export`. */
import { writeFile } from "node:fs/promises";
import type { Command } from "commander";
import { wantsJson } from "../command.ts";
import { formatTable, writeJson, writeLine } from "../output.ts";

export function register(program: Command): void {
  const policy = program.command("policy").description("look at policies and take them out");
  policy
    .command("list")
    .description("list every policy on record, oldest first")
    .action(async (_options: unknown, command: Command) => {
      const { listPolicies } = await import("../../../services/store/index.ts");
      const { withRecord } = await import("../../control/index.ts");
      const policies = await withRecord(({ db }) => listPolicies(db));
      if (wantsJson(command)) return writeJson(policies);
      writeLine(
        formatTable(policies, [
          { title: "policy", value: ({ id }) => id },
          { title: "step", align: "right", value: ({ step }) => step },
          { title: "parent", value: ({ parent }) => parent },
          { title: "sha256", value: ({ sha256 }) => sha256 },
        ]),
      );
    });
  policy
    .command("show")
    .description("show a policy: its parent, step and checkpoint")
    .argument("<id>", "id of the policy (tadpole policy list)")
    .action(async (id: string, _options: unknown, command: Command) => {
      const { getPolicy } = await import("../../../services/store/index.ts");
      const { withRecord } = await import("../../control/index.ts");
      const found = await withRecord(({ db }) => getPolicy(db, id));
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
      const { getPolicy } = await import("../../../services/store/index.ts");
      const { withRecord } = await import("../../control/index.ts");
      const bytes = await withRecord(async ({ db, artifacts }) =>
        artifacts.get((await getPolicy(db, id)).checkpoint),
      );
      await writeFile(file, bytes, { flag: "wx" });
      if (wantsJson(command)) writeJson({ policy: id, file, bytes: bytes.byteLength });
      else writeLine(`wrote ${bytes.byteLength} bytes to ${file}`);
    });
}
