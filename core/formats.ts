/** Formats of other projects' tasks (docs/formats.md). */
export const IMPORT_FORMATS = ["swe-bench", "swe-smith", "swe-rebench", "r2e-gym", "harbor"] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];
