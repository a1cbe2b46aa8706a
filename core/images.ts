/** Names of container images. Pure. */

const DOMAIN =
  "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::\\d+)?";
const PART = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
const TAG = "\\w[\\w.-]{0,127}";
const DIGEST = "sha256:[0-9a-f]{64}";

const REFERENCE = new RegExp(
  `^(?:${DIGEST}|(?:${DOMAIN}/)?${PART}(?:/${PART})*(?::${TAG})?(?:@${DIGEST})?)$`,
);

/** Longer names are no names of registries (255 is theirs, a digest comes on top). */
const MAX_LENGTH = 512;

/**
 * Whether a text names an image: `[host[:port]/]path[:tag][@sha256:…]` or an image's id `sha256:…`, as
 * https://pkg.go.dev/github.com/distribution/reference has it. The name becomes part of an address of the daemon: nothing else may be asked of one.
 */
export const isImageReference = (text: string): boolean => text.length <= MAX_LENGTH && REFERENCE.test(text);

export const IMAGE_HINT =
  "the name of an image: [host/]name[:tag][@sha256:<64 hex digits>], or sha256:<64 hex digits>";
