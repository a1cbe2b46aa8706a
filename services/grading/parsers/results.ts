/** Collects the results of one report under names that no two of them share. */
import type { TestStatus } from "../../../core/task.ts";
import type { TestReport } from "../types.ts";

export class Results {
  private readonly scope: string;
  private readonly statuses = new Map<string, TestStatus>();
  private readonly ordinals = new Map<string, number>();

  /** `scope` stands before every name, as `<scope> > `; "" = nothing does. */
  constructor(scope: string) {
    this.scope = scope;
  }

  get size(): number {
    return this.statuses.size;
  }

  /** A name that is taken gets the next free `#2`, `#3`, … */
  add(name: string, status: TestStatus): void {
    const base = this.scope === "" ? name : `${this.scope} > ${name}`;
    let ordinal = this.ordinals.get(base) ?? 0;
    let key: string;
    do {
      ordinal++;
      key = ordinal === 1 ? base : `${base}#${ordinal}`;
    } while (this.statuses.has(key));
    this.ordinals.set(base, ordinal);
    this.statuses.set(key, status);
  }

  report(complete: boolean): TestReport {
    return { statuses: Object.fromEntries(this.statuses), complete };
  }
}
