/** Parsing of settings at the edges; workflow code must not import it (it brings zod and yaml). */
export { SettingsError, type SettingsErrorKind } from "./errors.ts";
export { experimentSchema } from "./experiment.ts";
export { applyOverrides, experimentJsonSchema, parseExperimentFile } from "./parse.ts";
