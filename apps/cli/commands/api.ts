/** `api`: serves experiments over HTTP. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { packageRoot } from "../../../infra/stack/index.ts";
import { examples } from "../command.ts";
import { UsageError } from "../errors.ts";

interface Options {
  readonly host: string;
  readonly port: number;
  readonly readTokenEnv?: string;
  readonly writeTokenEnv?: string;
  readonly rateLimit: number;
  readonly streamSeconds: number;
}

export function register(program: Command): void {
  const command = program
    .command("api")
    .description("serve the HTTP API, with its document at /openapi.json and its pages at /docs")
    .option("--host <address>", "address to listen on; beyond this machine a token is needed", "127.0.0.1")
    .option("--port <n>", "port; 0 = any that is free", within(0, 65_535), 7350)
    .option("--read-token-env <name>", "environment variable with the token that may read")
    .option("--write-token-env <name>", "environment variable with the token that may read and write")
    .option("--rate-limit <n>", "requests per minute and address", within(1, 1_000_000), 600)
    .option("--stream-seconds <n>", "how long a stream of events stays open", within(1, 86_400), 300)
    .action(async (options: Options) => {
      const { createApi } = await import("../../api/server.ts");
      const { isLoopback, readToken } = await import("../../api/tokens.ts");
      const { withStack } = await import("../../control/index.ts");
      const { readTokenEnv, writeTokenEnv } = options;
      const tokens = [
        ...(readTokenEnv === undefined ? [] : [readToken(readTokenEnv, ["read"])]),
        ...(writeTokenEnv === undefined ? [] : [readToken(writeTokenEnv, ["read", "write"])]),
      ];
      if (tokens.length === 0 && !isLoopback(options.host))
        throw new UsageError(
          `--host ${options.host}: expected --read-token-env or --write-token-env with it, since others can reach that address`,
        );
      const { version } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as {
        version: string;
      };
      await withStack(async (session) => {
        const api = await createApi(session, {
          tokens,
          requestsPerMinute: options.rateLimit,
          streamSeconds: options.streamSeconds,
          version,
          log: process.stdout,
        });
        const stopped = new Promise<void>((resolve) => {
          for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
        });
        await api.listen({ host: options.host, port: options.port }).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== "EADDRINUSE" && error.code !== "EADDRNOTAVAIL" && error.code !== "EACCES")
            throw error;
          throw new UsageError(`--host ${options.host} --port ${options.port}: ${error.message}`);
        });
        await stopped;
        await api.close();
      });
    });
  examples(command, ["api", "api --host 0.0.0.0 --port 8080 --write-token-env API_TOKEN"]);
}

function within(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`expected a whole number from ${min} to ${max}`);
  };
}
