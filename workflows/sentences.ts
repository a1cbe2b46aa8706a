/** What each activity does, as one sentence from its input: its summary in the Temporal UI. */
import type { Activities } from "../activities/types.ts";

type Sentences = { readonly [N in keyof Activities]: (input: Parameters<Activities[N]>[0]) => string };

export const SENTENCES: Sentences = {
  prepareEnvironment: ({ name, repeats }) =>
    `prepare ${name}: fetch, install, run its tests ${repeats === 1 ? "once" : `${repeats} times`}`,
  startPolicy: ({ kind }) => `make the start policy, a ${kind} one`,
  synthesise: ({ from, count, environments }) =>
    `synthesise candidates ${from} to ${from + count - 1} in ${environments.map(({ name }) => name).join(", ")}`,
  validate: ({ candidate }) =>
    `validate candidate ${candidate.index}: a ${candidate.generator} in ${candidate.environment.name}`,
  harden: ({ candidate }) => `combine candidate ${candidate.index} with another mistake`,
  repair: ({ candidate, round }) => `send candidate ${candidate.index} back to its author: repair ${round}`,
  rewrite: ({ taskId, action, author }) => `have ${author.model} write the text of ${taskId} anew: ${action}`,
  refine: ({ taskId, level }) => `write the statement of ${taskId} at level ${level}`,
  rollout: ({ group, member }) =>
    `rollout ${member + 1} of ${group.size}: ${group.policy.id} works on ${group.taskId}`,
  verify: ({ taskId, size }) => `grade ${size} rollouts of ${taskId}`,
  filter: ({ passes, filter, candidate, level }) =>
    `decide on candidate ${candidate}: ${passes} of ${filter.probes} probes passed at level ${level}`,
  assemble: ({ update, groups }) => `put ${groups.length} groups into the batch of update ${update}`,
  update: ({ update, parent, kept, dropped }) =>
    `make update ${update} of ${parent.id} from ${kept} of ${kept + dropped} groups`,
  publish: ({ policy }) => `serve ${policy.id}`,
  evaluate: ({ policy, set, groups }) => `measure pass@1 of ${policy} on ${set}, ${groups.length} tasks`,
  findIteration: ({ iteration }) => `look up what is on record of iteration ${iteration}`,
  findPool: ({ iteration }) => `look up the pool of iteration ${iteration}`,
  findTaskSet: ({ name, spec }) => `look up the task set ${name} of ${spec.tasks} tasks`,
  saveTaskSet: ({ set }) => `record the task set ${set.name} of ${set.tasks.length} tasks`,
  hold: ({ hold }) => `hold the experiment: ${hold.reason}`,
  release: () => "release the hold",
  noteFailures: ({ scope }) => `keep what failed in iteration ${scope.iteration} for the author of the next`,
  noteRequest: ({ verb }) => `record that the request to ${verb} was done`,
  noteUsed: ({ keys }) => `count ${keys.length} candidates as used`,
  watch: () => "wait for a hold or a watchdog",
  awaitDrained: () => "wait until all is at rest",
  amend: ({ amendments }) => {
    const last = amendments.at(-1);
    return last === undefined
      ? "record that nothing is amended"
      : `record the amendment ${last.path} ${last.old} → ${last.value}`;
  },
  recordExperiment: ({ status, phase, error }) =>
    `record the experiment as ${status}${phase === undefined ? "" : `: ${phase}`}${error === undefined ? "" : `: ${error}`}`,
  recordIteration: ({ scope, status }) => `record iteration ${scope.iteration} as ${status}`,
};
