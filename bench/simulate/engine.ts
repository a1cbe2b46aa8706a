/** One engine: its turns in progress share it evenly, and each step takes longer the more there are. */
import type { Agenda } from "./agenda.ts";
import type { NodeSettings } from "./settings.ts";

interface Asked {
  /** Steps that every turn on the engine has had by the time this one is done. */
  readonly until: number;
  /** Tokens of its context. */
  readonly context: number;
  readonly done: () => void;
}

export class Engine {
  readonly #agenda: Agenda;
  readonly #settings: NodeSettings["engines"];
  #turns: Asked[] = [];
  /** Of these, the one that ends first. */
  #next: Asked | null = null;
  /** Steps since the beginning. */
  #steps = 0;
  #since = 0;
  #paused = false;
  /** Of the plan for the next turn's end: a plan that is not the latest is void. */
  #plan = 0;
  /** Seconds with at least one turn in progress, pauses included. */
  busySeconds = 0;

  constructor(agenda: Agenda, settings: NodeSettings["engines"]) {
    this.#agenda = agenda;
    this.#settings = settings;
  }

  get turns(): number {
    return this.#turns.length;
  }

  /** Tokens of the turns in progress: what has to be computed again where weights change under them. */
  get contextTokens(): number {
    return this.#turns.reduce((sum, { context }) => sum + context, 0);
  }

  ask(prompt: number, tokens: number, context: number, done: () => void): void {
    this.#advance();
    const steps = tokens + this.#settings.prefillWeight * prompt;
    const turn = { until: this.#steps + steps, context, done };
    this.#turns.push(turn);
    if (this.#next === null || turn.until < this.#next.until) this.#next = turn;
    this.#replan();
  }

  pause(): void {
    this.#advance();
    this.#paused = true;
    this.#replan();
  }

  resume(): void {
    this.#advance();
    this.#paused = false;
    this.#replan();
  }

  get #stepSeconds(): number {
    return this.#settings.baseSeconds + this.#settings.perSequenceSeconds * this.#turns.length;
  }

  #advance(): void {
    const { now } = this.#agenda;
    const passed = now - this.#since;
    this.#since = now;
    if (this.#turns.length === 0) return;
    this.busySeconds += passed;
    if (!this.#paused) this.#steps += passed / this.#stepSeconds;
  }

  #replan(): void {
    const plan = ++this.#plan;
    const next = this.#next;
    if (this.#paused || next === null) return;
    const delay = Math.max(0, (next.until - this.#steps) * this.#stepSeconds);
    this.#agenda.after(delay, () => {
      if (plan !== this.#plan) return;
      this.#advance();
      // Rounding must not leave it a step short of its end.
      this.#steps = Math.max(this.#steps, next.until);
      this.#turns.splice(this.#turns.indexOf(next), 1);
      this.#next = null;
      for (const turn of this.#turns)
        if (this.#next === null || turn.until < (this.#next as Asked).until) this.#next = turn;
      this.#replan();
      next.done();
    });
  }
}
