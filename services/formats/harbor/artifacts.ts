/** Which artifacts are copied from the agent's box into the verifier's, as Harbor chooses them. Pure. */
import { ImportError } from "../types.ts";
import type { Artifact } from "./config.ts";

/** Always copied, by its place among the others where the task names it itself. */
const PUBLISHED = "/logs/artifacts";
/** Where the verifier has its tests: no artifact may decide them. */
const TESTS = "/tests";

export interface ChosenArtifacts {
  readonly artifacts: readonly { readonly source: string; readonly exclude: readonly string[] }[];
  readonly notes: readonly string[];
}

/** Of two that would be kept at the same place of a trial's folder, or one in the other, the first is copied. Throws ImportError. */
export function chosenArtifacts(declared: readonly Artifact[], file: string): ChosenArtifacts {
  const all = declared.map((artifact, i) => ({
    ...artifact,
    source: absolute(artifact.source, `artifacts[${i}].source`, file),
  }));
  const published = { source: PUBLISHED, destination: null, exclude: [] };
  const named = all.some(({ source }) => source === PUBLISHED) ? all : [published, ...all];
  const kept: Artifact[] = [];
  const notes: string[] = [];
  for (const artifact of named) {
    const before = kept.find((other) => overlap(placeOf(other), placeOf(artifact)));
    if (before === undefined) kept.push(artifact);
    else notes.push(`artifact ${artifact.source} is left out: ${before.source} has its place, as in Harbor`);
  }
  return { artifacts: kept.map(({ source, exclude }) => ({ source, exclude })), notes };
}

function absolute(source: string, field: string, file: string): string {
  const path = `/${source
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/")}`;
  const fail = (expected: string): never => {
    throw new ImportError("unsupported", { file, field }, expected, JSON.stringify(source));
  };
  if (!source.startsWith("/") || path === "/") return fail("an absolute path other than /");
  if (overlap(path, TESTS)) return fail(`a path apart from ${TESTS}, where the verifier has its own`);
  return path;
}

const placeOf = ({ source, destination }: Artifact): string =>
  `/${(destination ?? source)
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/")}`;

const overlap = (a: string, b: string): boolean => `${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`);
