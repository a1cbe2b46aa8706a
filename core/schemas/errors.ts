/** Why settings were refused: one message that names the file, the field and what is expected of it. */

export type SettingsErrorKind =
  /** The file is not YAML. */
  | "syntax"
  | "missing-file"
  | "unknown-key"
  /** A field without a default is absent. */
  | "missing"
  | "wrong-type"
  | "impossible-value";

export interface SettingsErrorDetails {
  /** As the user named it; `--set` for an override. */
  readonly file: string;
  /** Dotted path, empty for the whole file. */
  readonly field: string;
  readonly expected: string;
  /** What stands there instead, as a short text; null where nothing does. */
  readonly found: string | null;
  /** 1-based; null where the source has no lines. */
  readonly line: number | null;
}

export class SettingsError extends Error {
  readonly kind: SettingsErrorKind;
  readonly file: string;
  readonly field: string;
  readonly expected: string;
  readonly line: number | null;

  constructor(kind: SettingsErrorKind, details: SettingsErrorDetails, options?: ErrorOptions) {
    super(describe(kind, details), options);
    this.name = "SettingsError";
    this.kind = kind;
    this.file = details.file;
    this.field = details.field;
    this.expected = details.expected;
    this.line = details.line;
  }
}

function describe(
  kind: SettingsErrorKind,
  { file, field, expected, found, line }: SettingsErrorDetails,
): string {
  const place = [shown(file), ...(line === null ? [] : [`line ${line}`])].join(", ");
  const subject = field === "" ? place : `${place}: ${shown(field)}`;
  if (kind === "syntax") return `${subject}: ${shown(found ?? "not valid YAML")}; expected ${expected}`;
  if (kind === "unknown-key") return `${subject}: unknown key; expected ${expected}`;
  return `${subject}: expected ${expected}, found ${found ?? "nothing"}`;
}

/** One line of what the user wrote, however long it is. */
function shown(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not be shown
  const line = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(text) ? JSON.stringify(text) : text;
  return line.length > 300 ? `${line.slice(0, 297)}...` : line;
}
