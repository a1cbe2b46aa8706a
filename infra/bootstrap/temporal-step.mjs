/** The Temporal CLI: named elsewhere, on PATH, cached, downloaded, or built. */
import { run } from "./run.mjs";
import {
  buildTemporal,
  cachedTemporal,
  downloadTemporal,
  findOnPath,
  findTemporal,
  temporalRelease,
  temporalVersion,
} from "./temporal.mjs";

/** A slow line needs a minute for 60 MB; a blocked one should not hold up the start for longer. */
const downloadSeconds = 180;

const why =
  "It runs the workflows. Install it from https://temporal.io/setup, or name a server by TEMPORAL_ADDRESS.";

export async function temporalStep({ env, say }) {
  if (env.TEMPORAL_ADDRESS) return `server at ${env.TEMPORAL_ADDRESS} (TEMPORAL_ADDRESS)`;
  const found = findTemporal(env);
  if (found?.from === "cache") return found.path;
  if (found) {
    await run(found.path, ["--version"], { seconds: 60 }).catch((error) => {
      throw new Error(`the Temporal CLI on PATH does not run (${error.message}). ${why}`);
    });
    return `${found.path} (on PATH)`;
  }
  const target = cachedTemporal(env);
  const release = temporalRelease(process.platform, process.arch);
  let problem = `no release for ${process.platform}-${process.arch}`;
  if (release) {
    say(`downloading ${release.url}`);
    try {
      await downloadTemporal(release, target, downloadSeconds);
      return `${target} (downloaded, sha256 checked)`;
    } catch (error) {
      problem = error.cause?.message ?? error.message;
    }
  }
  const go = findOnPath("go", { PATH: `${env.PATH ?? ""}:/usr/local/go/bin` });
  if (!go)
    throw new Error(
      `the Temporal CLI ${temporalVersion} is missing: the download failed (${problem}) and there is no Go to build it with. ${why}`,
    );
  say(
    `building ${temporalVersion} from source with ${go}: 3 minutes on a free machine, 10 on a busy one (the download failed: ${problem})`,
  );
  try {
    await buildTemporal(env, target, go);
  } catch (error) {
    throw new Error(
      `the Temporal CLI ${temporalVersion} is missing: neither the download (${problem}) nor the build worked. ${why}\n    ${error.message}`,
    );
  }
  return `${target} (built from source)`;
}
