/** A Harbor folder read, built and graded in Docker, with what takes all of it away again. */
import { join } from "node:path";
import { harborImporter, type PreparedImport, prepareImport } from "../../services/formats/index.ts";
import { createGrading, type GradingService } from "../../services/grading/index.ts";
import { connectDocker, createRuntime } from "../../services/sandbox/index.ts";

export interface HarborImport {
  readonly prepared: PreparedImport;
  readonly grading: GradingService;
  readonly close: () => Promise<void>;
}

/** The one task that lies in `made`; its data goes below `folder`. */
export async function openHarborImport(
  made: string,
  folder: string,
  options: Omit<Parameters<typeof createGrading>[0], "runtime"> = {},
): Promise<HarborImport> {
  const images = new Set<string>();
  const dataFolder = join(folder, "data");
  const runtime = createRuntime("docker", { dataFolder, nodePath: process.execPath });
  const grading = createGrading({ ...options, runtime });
  const close = async () => {
    await grading.close();
    for (const image of [...images].reverse())
      await connectDocker()
        .docker.getImage(image)
        .remove({ force: true })
        .catch(() => {});
  };
  let prepared: PreparedImport | undefined;
  for await (const result of harborImporter.read(made, {})) {
    if ("error" in result) throw result.error;
    prepared = await prepareImport(result.task, { dataFolder, runtime, note: (id) => images.add(id) });
  }
  if (prepared === undefined) throw new Error(`${made} holds no task`);
  return { prepared, grading, close };
}
