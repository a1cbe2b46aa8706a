export interface StepContext {
  readonly env: NodeJS.ProcessEnv;
  readonly root: string;
  /** Tells what takes long, before it does. */
  say(text: string): void;
}
/** Resolves with what it found or did; rejects with an Error that says what is missing, why, and how to get it. */
export type Step = (context: StepContext) => Promise<string>;
export const bubblewrapStep: Step;
export const packagesStep: Step;
export const temporalStep: Step;
/** Why node_modules is not what package-lock.json asks for; null when it is. */
export function packagesDifference(root: string): string | null;
