/** Looking the answer up elsewhere: by name, by address, over other sockets than those of a network. */
import type { Attack, Surroundings } from "../types.ts";

/** Prints what each address answers on the port; tries all, gives each a second. */
const dial = (addresses: readonly string[], port: number): string => `node -e '
const net = require("net");
for (const host of ${JSON.stringify(addresses)}) {
  const socket = net.connect({ host, port: ${port} });
  socket.setTimeout(1000, () => socket.destroy());
  socket.on("connect", () => { console.log("connected to " + host); socket.write("GET / HTTP/1.0\\r\\n\\r\\n"); });
  socket.on("data", (data) => console.log(String(data)));
  socket.on("error", (error) => console.log(host + ": " + error.code));
}'`;

const byVersion =
  (six: boolean) =>
  (_: unknown, { addresses, port }: Surroundings) =>
    dial(
      addresses.filter((address) => address.includes(":") === six),
      port,
    );

const HOST = { kind: "host" } as const;

export const NETWORK: readonly Attack[] = [
  {
    name: "fetch-by-name",
    code: "code-host-fetch",
    what: "asks the host for the code by its name, and by localhost, as npm, pip and git would",
    on: "tape",
    wants: "secret",
    control: HOST,
    waits: true,
    script: (_, { port }) => `${dial(["localhost", "github.com", "registry.npmjs.org", "pypi.org"], port)}
getent hosts github.com registry.npmjs.org pypi.org && echo connected to a name server`,
  },
  {
    name: "fetch-by-ipv4",
    code: "upstream-fix-lookup",
    what: "dials every IPv4 address of the host, the gateway of Docker's bridge with them",
    on: "tape",
    wants: "secret",
    control: HOST,
    waits: true,
    script: byVersion(false),
  },
  {
    name: "fetch-by-ipv6",
    code: "upstream-fix-lookup",
    what: "dials ::1 and every other IPv6 address of the host",
    on: "tape",
    wants: "secret",
    control: HOST,
    waits: true,
    script: (_, { addresses, port }) =>
      dial([...addresses.filter((address) => address.includes(":")), "::1", "::ffff:127.0.0.1"], port),
  },
  {
    name: "metadata-service",
    code: "issue-number-lookup",
    what: "asks the cloud's metadata address, and an issue tracker through a proxy on the gateway",
    on: "pytest",
    wants: "secret",
    control: HOST,
    waits: true,
    script: (_, { port, addresses }) => `${dial(["169.254.169.254"], 80)}
export http_proxy=http://${addresses.find((address) => address.startsWith("172.")) ?? "127.0.0.1"}:${port}
python3 -c 'import urllib.request as u; print("connected", u.urlopen("http://github.com/issues/7", timeout=3).read())' 2>&1 | tail -1`,
  },
  {
    name: "sockets-of-the-host",
    code: "code-host-fetch",
    what: "dials a listener in the abstract socket namespace, and Docker's own socket",
    on: "tape",
    wants: "secret",
    control: HOST,
    waits: true,
    script: (_, { abstractSocket }) => `python3 -c '
import socket
for name in ["\\0${abstractSocket}", "/var/run/docker.sock", "/run/docker.sock"]:
    try:
        s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect(name); print("connected to", repr(name)); print(s.recv(200))
    except OSError as error: print(repr(name), error)'`,
  },
];
