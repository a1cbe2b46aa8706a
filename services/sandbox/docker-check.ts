/** What of Docker works for sandboxes of this host. Makes nothing that stays. */
import { connect } from "./docker/client.ts";
import { Daemon } from "./docker/daemon.ts";
import { daemonError, statusOf } from "./docker/errors.ts";
import { helperName } from "./docker/helper.ts";
import { baseImageTag, imageId } from "./docker/image.ts";
import { SandboxError } from "./runtime.ts";

const ANSWER_MS = 10_000;

/**
 * One line: the daemon, the base image, and whether containers see `folder`, a folder that exists on this machine. Throws SandboxError
 * `unavailable` with the reason and the remedy.
 */
export async function examineDocker(folder: string): Promise<string> {
  const client = connect();
  const { docker, where } = client;
  const asked = <T>(doing: string, work: Promise<T>): Promise<T> =>
    Promise.race([
      work,
      new Promise<never>((_, reject) => {
        const late = () => reject(new Error(`no answer within ${ANSWER_MS / 1000} s`));
        setTimeout(late, ANSWER_MS).unref();
      }),
    ]).catch((error: unknown) => {
      throw daemonError(error, where, doing, "unavailable");
    });
  const { Version } = await asked("telling its version", docker.version());
  const unfit = await asked("telling its settings", new Daemon(client).unfit());
  if (unfit !== null) throw new SandboxError("unavailable", unfit);
  const tag = baseImageTag();
  const image = await imageId(client, tag);
  const daemon = `daemon ${Version} at ${where}`;
  if (image === undefined)
    return `${daemon}; the base image ${tag} is made when it is first needed, about a minute`;
  await asked("showing it this machine's files", seesFolder(docker, image, folder));
  return `${daemon}; base image ${tag} is there; containers see ${folder}`;
}

/** The daemon looks for what is to be mounted when a container is created; this one never starts. */
async function seesFolder(docker: ReturnType<typeof connect>["docker"], image: string, folder: string) {
  const container = await docker.createContainer({
    name: helperName(),
    Image: image,
    Cmd: ["true"],
    HostConfig: {
      NetworkMode: "none",
      Mounts: [{ Type: "bind", Source: folder, Target: "/mnt", ReadOnly: true }],
    },
  });
  await container.remove({ force: true, v: true }).catch((error: unknown) => {
    if (statusOf(error) !== 404) throw error;
  });
}
