/** bubblewrap, which the sandboxes are made with: from the system, and shown to work. */
import { existsSync } from "node:fs";
import { run } from "./run.mjs";
import { findOnPath } from "./temporal.mjs";

const why = "Commands of an agent run in sandboxes made with it.";

export async function bubblewrapStep({ env, say }) {
  const found = findOnPath("bwrap", env);
  const note = found ? "" : await install(env, say);
  const program = found ?? findOnPath("bwrap", env);
  try {
    await run(program, ["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "true"], {
      env,
      seconds: 30,
    });
  } catch (error) {
    throw new Error(
      `bubblewrap cannot make a sandbox here. ${why} The system must allow user namespaces: in a container run it with\n` +
        "    --security-opt seccomp=unconfined, on Ubuntu type: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\n" +
        `    ${error.message}`,
    );
  }
  return `${program}${note}`;
}

async function install(env, say) {
  const type = "type: sudo apt-get install -y bubblewrap";
  if (!existsSync("/etc/debian_version") || !findOnPath("apt-get", env))
    throw new Error(`bubblewrap is missing. ${why} Install your system's package "bubblewrap".`);
  if (env.TADPOLE_NO_APT === "1")
    throw new Error(
      `bubblewrap is missing, and TADPOLE_NO_APT=1 forbids installing it. ${why} To get it ${type}`,
    );
  if (process.getuid() !== 0) throw new Error(`bubblewrap is missing. ${why} To get it ${type}`);
  say("apt-get install bubblewrap (as root; TADPOLE_NO_APT=1 forbids this)");
  const quiet = { ...env, DEBIAN_FRONTEND: "noninteractive" };
  const get = () =>
    run("apt-get", ["install", "-y", "--no-install-recommends", "bubblewrap"], { env: quiet });
  try {
    // A bare image has no package lists yet.
    await get().catch(() => run("apt-get", ["update"], { env: quiet }).then(get));
  } catch (error) {
    throw new Error(
      `bubblewrap is missing and apt-get could not install it. ${why} To get it ${type}\n    ${error.message}`,
    );
  }
  return " (installed by apt-get)";
}
