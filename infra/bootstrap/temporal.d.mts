export interface TemporalProgram {
  readonly path: string;
  readonly from: "PATH" | "cache";
}
export interface TemporalRelease {
  readonly url: string;
  readonly sha256: string;
}
export const temporalVersion: string;
export function cacheFolder(env: NodeJS.ProcessEnv): string;
export function cachedTemporal(env: NodeJS.ProcessEnv): string;
export function findOnPath(name: string, env: NodeJS.ProcessEnv): string | null;
/** The program a local server would be started with, or null when bootstrap has to get it. */
export function findTemporal(env: NodeJS.ProcessEnv): TemporalProgram | null;
export function temporalRelease(platform: string, arch: string): TemporalRelease | null;
export function downloadTemporal(release: TemporalRelease, target: string, seconds: number): Promise<void>;
export function goInstallCommand(
  go: string,
  folder: string,
): {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};
export function buildTemporal(env: NodeJS.ProcessEnv, target: string, go: string): Promise<void>;
