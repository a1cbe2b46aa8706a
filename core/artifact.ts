/** References to bytes kept outside workflow histories and database rows. */

/** What the bytes are; the artifact store does not interpret them. */
export type ArtifactKind = "task" | "import" | "trajectory" | "batch" | "policy" | "keys" | "log" | "report";

/** A content-addressed reference. `sha256` is hex, `bytes` the length of the content. */
export interface ArtifactRef {
  readonly uri: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly kind: ArtifactKind;
}
