/** A runtime that boots nothing on a disk without room: a full disk breaks what runs already. */
import { requireRoom } from "./disk.ts";
import type { SandboxRuntime } from "./runtime.ts";

export interface Preflight {
  /** Folders on the disks that sandboxes take room on. */
  readonly disks: () => Promise<readonly string[]>;
  /** MiB. */
  readonly minFreeMb: number;
  /** Of a sandbox that has booted from an image of its own: the image's reference. */
  readonly onImageUsed?: (reference: string) => void;
}

export function withPreflight(
  runtime: SandboxRuntime,
  { disks, minFreeMb, onImageUsed }: Preflight,
): SandboxRuntime {
  return {
    name: runtime.name,
    unavailable: () => runtime.unavailable(),
    create: async (spec, identity) => {
      for (const disk of await disks()) await requireRoom(disk, minFreeMb, "booting a sandbox");
      const sandbox = await runtime.create(spec, identity);
      if (spec.image !== undefined) onImageUsed?.(spec.image.reference);
      return sandbox;
    },
    adopt: (previous, identity) => runtime.adopt(previous, identity),
    reap: (filter) => runtime.reap(filter),
    list: (now) => runtime.list(now),
    removeSlot: (slot, keep) => runtime.removeSlot(slot, keep),
  };
}
