/** Manifests of the folders that sandboxes are made from: hashed once, then only looked over. */
import { type Manifest, TreeScanner } from "./manifest.ts";

/** Roots whose manifest is kept. */
const MAX_CACHED_ROOTS = 64;

export class RootManifests {
  private readonly scanners = new Map<string, TreeScanner>();

  /** `skip` are relative paths of mount points. */
  of(root: string, skip: ReadonlySet<string>): Promise<Manifest> {
    const key = JSON.stringify([root, ...skip]);
    let scanner = this.scanners.get(key);
    if (scanner === undefined) {
      scanner = new TreeScanner(root, { skip });
      if (this.scanners.size >= MAX_CACHED_ROOTS) this.scanners.delete(this.scanners.keys().next().value!);
      this.scanners.set(key, scanner);
    }
    return scanner.scan();
  }
}
