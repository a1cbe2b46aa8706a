/** Log parsers that rows name, and the report format that reads the same tests under the same names. */
import type { ReportFormat } from "../../../core/task.ts";

const PYTEST = [
  ...["pytest", "pytest_v2", "pytest_v3", "pytest_options"],
  ...["astroid", "astropy", "flask", "marshmallow", "matplotlib", "pvlib", "pydicom", "pylint", "pyvista"],
  ...["requests", "scikit", "seaborn", "sphinx", "sqlfluff", "xarray"],
];

const FORMATS: ReadonlyMap<string, ReportFormat> = new Map<string, ReportFormat>([
  ...PYTEST.map((name) => [name, "pytest"] as const),
  ["django", "unittest"],
  ["unittest", "unittest"],
  ["cargo", "cargo-test"],
]);

/** `parse_log_` may be left out. Undefined = no format reads that. */
export const formatOfLogParser = (name: string): ReportFormat | undefined =>
  FORMATS.get(name.replace(/^parse_log_/, ""));

/** Parsers that are read, as errors list them. */
export const KNOWN_LOG_PARSERS: readonly string[] = [...FORMATS.keys()].map((name) => `parse_log_${name}`);
