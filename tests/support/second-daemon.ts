/** A Docker daemon of the test's own, beside the machine's: on a socket in a folder of its own and, with certificates of its own, on a port. */
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connectDocker } from "../../services/sandbox/index.ts";

export interface SecondDaemon {
  /** What XDG_RUNTIME_DIR is for a user whose daemon this is. */
  readonly runtimeFolder: string;
  /** DOCKER_HOST of its port. */
  readonly host: string;
  /** DOCKER_CERT_PATH of a client it trusts. */
  readonly certificates: string;
  /** DOCKER_CERT_PATH of a client whose authority it does not know. */
  readonly strangers: string;
  close(): Promise<void>;
}

const CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

function openssl(folder: string, ...args: string[]): void {
  execFileSync("openssl", args, { cwd: folder, stdio: "pipe" });
}

/** An authority and a certificate of it for the daemon and its clients alike, in the files of a DOCKER_CERT_PATH. */
function makeCertificates(folder: string): void {
  mkdirSync(folder);
  writeFileSync(
    join(folder, "names"),
    "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n",
  );
  openssl(
    folder,
    "req",
    "-x509",
    ...CURVE,
    "-days",
    "2",
    "-subj",
    "/CN=authority",
    "-keyout",
    "ca-key.pem",
    "-out",
    "ca.pem",
  );
  openssl(folder, "req", ...CURVE, "-subj", "/CN=docker", "-keyout", "key.pem", "-out", "request.pem");
  const signed = ["-CA", "ca.pem", "-CAkey", "ca-key.pem", "-CAcreateserial", "-extfile", "names"];
  openssl(folder, "x509", "-req", "-days", "2", "-in", "request.pem", ...signed, "-out", "cert.pem");
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A daemon that is to have no bridge takes away docker0, without which the machine's own cannot build. */
const bridge = (): string => (existsSync("/sys/class/net/docker0") ? "docker0" : "none");

/** Needs root and `dockerd`. It has no image, and no network to get one. */
export async function startSecondDaemon(): Promise<SecondDaemon> {
  // Sockets' paths are short.
  const folder = mkdtempSync(join(tmpdir(), "dockerd-"));
  const [certificates, strangers] = [join(folder, "certificates"), join(folder, "strangers")];
  makeCertificates(certificates);
  makeCertificates(strangers);
  // It knows the daemon; the daemon does not know it.
  cpSync(join(certificates, "ca.pem"), join(strangers, "ca.pem"));
  const address = `tcp://127.0.0.1:${await freePort()}`;
  const socket = join(folder, "docker.sock");
  const file = (name: string) => join(certificates, name);
  const daemon = spawn(
    "dockerd",
    [
      ...["-H", `unix://${socket}`, "-H", address],
      ...[
        "--tlsverify",
        "--tlscacert",
        file("ca.pem"),
        "--tlscert",
        file("cert.pem"),
        "--tlskey",
        file("key.pem"),
      ],
      ...[
        "--data-root",
        join(folder, "data"),
        "--exec-root",
        join(folder, "exec"),
        "--pidfile",
        join(folder, "pid"),
      ],
      ...["--bridge", bridge(), "--iptables=false"],
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  let said = "";
  for (const stream of [daemon.stdout, daemon.stderr])
    stream.on("data", (bytes: Buffer) => {
      said = (said + bytes).slice(-4000);
    });
  const ended = new Promise<void>((resolve) => daemon.once("close", () => resolve()));
  const close = async (): Promise<void> => {
    daemon.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const { docker } = connectDocker({ socketPath: socket });
  while (
    !(await docker.ping().then(
      () => true,
      () => false,
    ))
  ) {
    if (daemon.exitCode !== null) {
      await close();
      throw new Error(`dockerd ended: ${said}`);
    }
    await sleep(100);
  }
  return { runtimeFolder: folder, host: address, certificates, strangers, close };
}
