/** Where a Docker runtime keeps its records, and the daemon they speak of. Both are looked for when they are first needed. */
import { type Connection, connect, connectionFrom } from "./client.ts";
import { Daemon } from "./daemon.ts";
import { dataIdOf } from "./record.ts";

export class Place {
  /** Folder of the records of all sandboxes. */
  readonly root: string;
  private readonly connection: Connection | undefined;
  private reached: Daemon | undefined;
  private id: string | undefined;

  constructor(root: string, connection?: Connection) {
    this.root = root;
    this.connection = connection;
  }

  get daemon(): Daemon {
    this.reached ??= new Daemon(connect(this.connection ?? connectionFrom()));
    return this.reached;
  }

  /** Tells this data folder's containers from another's on the same daemon. */
  get dataId(): string {
    this.id ??= dataIdOf(this.root);
    return this.id;
  }

  /** `name` is that of the sandbox's folder. */
  containerName(name: string): string {
    return `tadpole-${this.dataId}-${name}`;
  }
}
