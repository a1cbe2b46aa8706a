/** What a failed call to the Docker daemon means for a sandbox. */
import { SandboxError, type SandboxErrorKind } from "../runtime.ts";

interface DaemonError extends Error {
  readonly code?: string;
  readonly statusCode?: number;
  readonly json?: { readonly message?: string };
}

export const statusOf = (error: unknown): number | undefined => (error as DaemonError)?.statusCode;

/** The daemon's own words, without the client's frame around them. */
export function daemonMessage(error: unknown): string {
  const { json, message } = error as DaemonError;
  return (json?.message ?? message ?? String(error)).trim();
}

const UNREACHABLE = ["ECONNREFUSED", "ENOENT", "EACCES", "EPERM", "ENOTFOUND", "EHOSTUNREACH", "ETIMEDOUT"];
const BROKEN_OFF = ["ECONNRESET", "EPIPE"];

/** True when the daemon may or may not have done what was asked: the connection ended before its answer. */
export const isBrokenOff = (error: unknown): boolean =>
  BROKEN_OFF.includes((error as DaemonError)?.code ?? "") || /socket hang up/.test(String(error));

/** Certificates that one side does not accept, or TLS spoken by one side alone. */
function isTlsMismatch(error: unknown): boolean {
  const { code = "" } = error as DaemonError;
  return (
    /^(ERR_SSL_|ERR_TLS_|EPROTO$|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(code) ||
    /HTTP request to an HTTPS server/.test(daemonMessage(error))
  );
}

/**
 * A SandboxError that names the cause: certificates, a daemon that does not answer, a full disk, files the daemon cannot see, a missing image;
 * `otherwise` for the rest.
 */
export function daemonError(
  error: unknown,
  where: string,
  doing: string,
  otherwise: SandboxErrorKind,
): SandboxError {
  if (error instanceof SandboxError) return error;
  const text = daemonMessage(error);
  const made = (kind: SandboxErrorKind, message: string) => new SandboxError(kind, message, { cause: error });
  const { code } = error as DaemonError;
  if (code !== undefined && UNREACHABLE.includes(code))
    return made("unavailable", `no Docker daemon answers at ${where} (${text}); ${daemonRemedy(code)}`);
  if (isTlsMismatch(error))
    return made(
      "unavailable",
      `the Docker daemon at ${where} and this machine do not trust each other (${text}); for TLS set DOCKER_TLS_VERIFY=1, and DOCKER_CERT_PATH to a folder of the daemon's ca.pem and a cert.pem and key.pem that it accepts`,
    );
  if (isBrokenOff(error))
    return made("unavailable", `the Docker daemon at ${where} broke off while ${doing}: ${text}`);
  if (code === "ENOSPC" || /no space left on device/i.test(text))
    return made("disk", `the Docker daemon's disk is full (${doing}): ${text}`);
  if (/bind source path does not exist/.test(text))
    return made(
      "unavailable",
      `the Docker daemon at ${where} does not see this machine's files (${text}); run the sandbox worker on the daemon's machine`,
    );
  if (statusOf(error) === 404 && /No such image/i.test(text))
    return made("unavailable", `${text}; load it there: docker pull or docker load`);
  return made(otherwise, `the Docker daemon failed while ${doing}: ${text}`);
}

const daemonRemedy = (code: string): string =>
  code === "EACCES" || code === "EPERM"
    ? "join the group docker (sudo usermod -aG docker $USER, then log in anew)"
    : "start it (sudo systemctl start docker) or set DOCKER_HOST";
