/** The texts of an exported task that programs read: Dockerfile and scripts. Pure. */
import { quoteShell } from "../../../core/shell.ts";
import type { FileChange } from "../../../core/task.ts";

/** The working tree of every box. */
export const WORKDIR = "/repo";

const ARCHIVE = "/logs/artifacts/repo.tar";

/** Run in the agent's box once it has stopped: what is graded elsewhere is its tree, not its box. */
export const COLLECT = {
  archive: ARCHIVE,
  /** `excluded` are folders of the tree that no change may decide. */
  command: (excluded: readonly string[]): string =>
    [
      `rm -rf ${ARCHIVE} && mkdir -p /logs/artifacts && tar -C ${WORKDIR}`,
      ...excluded.map((path) => `--exclude=${quoteShell(`./${path}`)}`),
      `-cf ${ARCHIVE} .`,
    ].join(" "),
};

export const TEST_SCRIPT = `#!/bin/bash
exec node /tests/grader/main.mjs /tests/task.json /logs/verifier
`;

export function dockerfile(
  image: string,
  env: Readonly<Record<string, string>>,
  mounts: readonly { readonly folder: string; readonly target: string }[],
): string {
  const lines = [
    `FROM ${image}`,
    "ENV LANG=C.UTF-8 TZ=UTC",
    ...Object.entries(env).map(
      ([name, value]) => `ENV ${name}=${JSON.stringify(value).replaceAll("$", "\\$")}`,
    ),
    `COPY tree/ ${WORKDIR}/`,
    ...mounts.map(({ folder, target }) => `COPY ${folder}/ ${target}/`),
    `WORKDIR ${WORKDIR}`,
  ];
  return `${lines.join("\n")}\n`;
}

/** Applies a solution whose files stand beside the script, in `tree`. */
export function solveScript(gold: readonly FileChange[]): string {
  const written = gold.filter(({ kind }) => kind !== "delete");
  const removed = gold.filter(({ kind }) => kind === "delete");
  const lines = [
    "#!/bin/bash",
    "set -euo pipefail",
    `cd ${WORKDIR}`,
    ...removed.map(({ path }) => `rm -f -- ${quoteShell(path)}`),
    ...(written.length === 0
      ? []
      : [`cp -R --preserve=mode,links --remove-destination /solution/tree/. ${WORKDIR}/`]),
  ];
  return `${lines.join("\n")}\n`;
}
