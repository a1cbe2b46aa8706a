/** A registry of one image of one layer, as far as a pull asks for it (the OCI distribution specification). */
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";

const MANIFEST = "application/vnd.docker.distribution.manifest.v2+json";
const digestOf = (bytes: Uint8Array) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

export interface Registry {
  readonly port: number;
  /** Of the image's manifest. */
  readonly digest: string;
  /** Requests for manifests and blobs so far. */
  requests(): number;
  close(): Promise<void>;
}

/** `layer` is a tar archive. On the loopback, which daemons trust without TLS. */
export async function startRegistry(name: string, layer: Uint8Array): Promise<Registry> {
  const zipped = gzipSync(layer);
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === "arm64" ? "arm64" : "amd64",
      os: "linux",
      config: {},
      rootfs: { type: "layers", diff_ids: [digestOf(layer)] },
    }),
  );
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: {
        mediaType: "application/vnd.docker.container.image.v1+json",
        size: config.length,
        digest: digestOf(config),
      },
      layers: [
        {
          mediaType: "application/vnd.docker.image.rootfs.diff.tar.gzip",
          size: zipped.length,
          digest: digestOf(zipped),
        },
      ],
    }),
  );
  const content = new Map<string, { readonly type: string; readonly bytes: Buffer }>([
    [`/v2/${name}/manifests/${digestOf(manifest)}`, { type: MANIFEST, bytes: manifest }],
    ...[config, zipped].map(
      (bytes) =>
        [`/v2/${name}/blobs/${digestOf(bytes)}`, { type: "application/octet-stream", bytes }] as const,
    ),
  ]);
  let requests = 0;
  const server = createServer(({ url, method }, response) => {
    if (url === "/v2/") return response.end("{}");
    requests++;
    const found = content.get(url ?? "");
    if (found === undefined) {
      response.writeHead(404, { "content-type": "application/json" });
      return response.end(JSON.stringify({ errors: [{ code: "MANIFEST_UNKNOWN", message: "unknown" }] }));
    }
    response.writeHead(200, {
      "content-type": found.type,
      "content-length": found.bytes.length,
      "docker-content-digest": digestOf(found.bytes),
    });
    return response.end(method === "HEAD" ? undefined : found.bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    digest: digestOf(manifest),
    requests: () => requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
