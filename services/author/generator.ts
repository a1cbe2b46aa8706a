/** The generator `llm`: one conversation is one candidate, and another one puts it right. */
import { randomUUID } from "node:crypto";
import { composeChanges } from "../../core/changes.ts";
import type { RandomStream } from "../../core/random.ts";
import { type FileChange, TASK_TYPES, type TaskType } from "../../core/task.ts";
import { boxSpec, withoutHistory } from "../environments/index.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import { limitsOf } from "../grading/index.ts";
import type { Sandbox, SandboxRuntime } from "../sandbox/runtime.ts";
import type { Brief, Candidate, SynthesisService, TaskGenerator } from "../synthesis/types.ts";
import { drawAttributes } from "./axes.ts";
import { type Assignment, candidateOf } from "./candidate.ts";
import type { ChatMessage } from "./chat.ts";
import { converse } from "./conversation.ts";
import { firstMessages, promptOf, repairMessage } from "./prompts.ts";
import { sinceSnapshot } from "./tree.ts";
import type { Attempt, AuthorParts } from "./types.ts";

/** Room for what an author tries out. */
const DISK_MB = 256;
/** An author's sandbox that outlives this belongs to a dead process: no activity may take as long. */
const LIFETIME_MS = 3 * 60 * 60 * 1000;
const NO_AUTHOR = { none: "no author writes tasks: synthesis.author is null" };

export interface Author {
  readonly generator: TaskGenerator;
  readonly repair: SynthesisService["repair"];
}

export function createAuthor(parts: AuthorParts): Author {
  return {
    generator: {
      name: "llm",
      generate: (environment, brief, random) => generate(parts, environment, brief, random),
    },
    repair: (environment, candidate, messages, brief) =>
      repair(parts, environment, candidate, messages, brief),
  };
}

async function generate(
  parts: AuthorParts,
  environment: PreparedEnvironment,
  brief: Brief,
  random: RandomStream,
): Promise<Attempt> {
  const { author, types } = brief;
  if (author === undefined) return NO_AUTHOR;
  const mode = drawMode(types, random);
  const functions = parts.functionsOf(environment);
  const open = functions.filter(({ key }) => parts.mayChange(key, brief));
  if (open.length === 0) return { none: "no function that the brief allows" };
  const target = random.pick(open);
  const attributes = drawAttributes(random);
  const kept = functions.filter(({ key }) => !parts.mayChange(key, brief));
  const { failures } = author;
  const assignment: Assignment = {
    environment,
    brief,
    mode,
    operator: `${mode}: ${attributes.behaviour}`,
    author: { model: author.settings.model, mode, ...promptOf(mode), repairs: 0 },
  };
  const messages = firstMessages({ environment, mode, target, attributes, kept, failures });
  return inTree(parts, assignment, [], messages);
}

/** Absent = every type is as likely. */
function drawMode(types: Brief["types"], random: RandomStream): TaskType {
  return TASK_TYPES[random.weighted(TASK_TYPES.map((type) => types?.[type] ?? (types ? 0 : 1)))]!;
}

async function repair(
  parts: AuthorParts,
  environment: PreparedEnvironment,
  candidate: Candidate,
  said: readonly string[],
  brief: Brief,
): Promise<Attempt> {
  const author = candidate.origin?.author;
  if (brief.author === undefined) return NO_AUTHOR;
  if (author === undefined || candidate.conversation === undefined)
    return { none: `a candidate of ${candidate.generator} has no author to be sent back to` };
  const allowed = brief.author.settings.repairs;
  if (author.repairs >= allowed)
    return { none: `author: sent back ${author.repairs} times already (synthesis.author.repairs)` };
  const assignment: Assignment = {
    environment,
    brief,
    mode: candidate.type,
    operator: candidate.sites[0]?.operator ?? candidate.type,
    author: { ...author, repairs: author.repairs + 1 },
  };
  const messages = [...(candidate.conversation as readonly ChatMessage[]), repairMessage(said)];
  return inTree(parts, assignment, leftBehind(candidate), messages);
}

/** The tree as the author of a candidate left it: its change, and its tests where they were delivered. */
function leftBehind({ base, gold, tests = [] }: Candidate): FileChange[] {
  return composeChanges(base.length > 0 ? base : gold, tests);
}

/** A conversation in a sandbox of the environment with `given` in it. The author sees the tests, and no network. */
async function inTree(
  parts: AuthorParts,
  assignment: Assignment,
  given: readonly FileChange[],
  messages: readonly ChatMessage[],
): Promise<Attempt> {
  const { environment, brief } = assignment;
  const { signal, author } = brief;
  const sandbox = await openBox(parts.runtime, environment, given);
  try {
    return await converse({
      brief: author!,
      sandbox,
      messages,
      signal,
      cpuSeconds: limitsOf(environment).cpuSeconds,
      accept: async (delivery) => {
        const now = withoutHistory(await sandbox.changes());
        return candidateOf(parts, assignment, delivery, sinceSnapshot(environment.root, given, now));
      },
    });
  } finally {
    await sandbox.destroy();
  }
}

function openBox(
  runtime: SandboxRuntime,
  environment: PreparedEnvironment,
  overlay: readonly FileChange[],
): Promise<Sandbox> {
  const fence = randomUUID();
  const { limits } = limitsOf(environment);
  return runtime.create(
    boxSpec(environment, { overlay, limits: { ...limits, diskMb: Math.max(limits.diskMb, DISK_MB) } }),
    {
      experiment: "synthesis",
      slot: `author/${fence}`,
      attempt: 1,
      fence,
      deadline: Date.now() + LIFETIME_MS,
    },
  );
}
