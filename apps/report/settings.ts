/** Settings by path: what the file says, and where an iteration runs with another value, by an override, an amendment or a replay. */
import type { ReportData } from "../../services/store/index.ts";
import { table } from "./figure.ts";
import { html, type Markup } from "./html.ts";

/** Settings as `path`, `value` rows. */
export function settingRows(value: unknown, path = ""): (readonly [string, string])[] {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return Object.entries(value).flatMap(([key, member]) =>
      settingRows(member, path === "" ? key : `${path}.${key}`),
    );
  return [[path, Array.isArray(value) ? value.map(inline).join(", ") || "none" : inline(value)]];
}

function inline(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** `0.2 from iteration 2 on, 0.1 from iteration 4 on`: each change; null where the first value stays. */
export function changes(first: string, then: readonly (readonly [fromIteration: number, value: string])[]) {
  const changed: string[] = [];
  let standing = first;
  for (const [fromIteration, value] of then) {
    if (value !== standing) changed.push(`${value} from iteration ${fromIteration} on`);
    standing = value;
  }
  return changed.join(", ") || null;
}

export function settingTable({ settings, inForce }: Pick<ReportData, "settings" | "inForce">): Markup {
  const later = inForce.map((part) => ({ ...part, rows: new Map(settingRows(part.settings)) }));
  const rows = settingRows(settings).map(([path, value]) => ({
    path,
    value,
    changed: changes(
      value,
      later.map(({ fromIteration, rows }) => [fromIteration, rows.get(path) ?? value]),
    ),
  }));
  const anyChanged = rows.some(({ changed }) => changed !== null);
  return table({
    head: ["Field", "Value", ...(anyChanged ? ["In force"] : [])],
    rows: rows.map(({ path, value, changed }) => [
      html`<code>${path}</code>`,
      value,
      ...(anyChanged ? [changed ?? ""] : []),
    ]),
  });
}
