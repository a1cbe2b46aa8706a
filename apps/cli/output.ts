/** How commands write: tables and lines for people, one JSON value for programs, progress that suits the terminal. */

export function writeLine(line = ""): void {
  process.stdout.write(`${line}\n`);
}

export function writeJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export interface Column<Row> {
  readonly title: string;
  readonly align?: "left" | "right";
  value(row: Row): string | number | null;
}

/** Columns as wide as their widest cell, two spaces apart; null shows as a dash. */
export function formatTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const cells = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map((column) => String(column.value(row) ?? "–"))),
  ];
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => [...(line[index] ?? "")].length)));
  const pad = (text: string, index: number) => {
    const space = " ".repeat((widths[index] ?? 0) - [...text].length);
    return columns[index]?.align === "right" ? space + text : text + space;
  };
  return cells.map((line) => line.map(pad).join("  ").trimEnd()).join("\n");
}

/** 0.4 s, 12 s, 3 min 05 s, 2 h 07 min. */
export function formatSeconds(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const two = (value: number) => String(value).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
}

export function formatPercent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** 0 B, 512 B, 1.5 KB, 23 MB: powers of 1024. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  for (const unit of ["B", "KB", "MB", "GB"]) {
    if (value < 1024) return `${value < 10 && unit !== "B" ? value.toFixed(1) : Math.round(value)} ${unit}`;
    value /= 1024;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} TB`;
}

export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/**
 * Progress beside the result, hence on stderr: on a terminal a block of lines that is redrawn in place, elsewhere a plain
 * line whenever `note` is called.
 */
export class ProgressLine {
  readonly #output: Output;
  #drawn = 0;

  constructor(output: Output = process.stderr) {
    this.#output = output;
  }

  get live(): boolean {
    return this.#output.isTTY === true;
  }

  /** Replaces the block; does nothing where lines cannot be redrawn. */
  draw(lines: readonly string[]): void {
    if (!this.live) return;
    const width = Math.max(20, (this.#output.columns ?? 80) - 1);
    this.clear();
    this.#output.write(lines.map((line) => `${[...line].slice(0, width).join("")}\n`).join(""));
    this.#drawn = lines.length;
  }

  clear(): void {
    if (this.#drawn > 0) this.#output.write(`\u001b[${this.#drawn}A\u001b[0J`);
    this.#drawn = 0;
  }

  /** A line that stays. */
  note(line: string): void {
    this.clear();
    this.#output.write(`${line}\n`);
  }
}
