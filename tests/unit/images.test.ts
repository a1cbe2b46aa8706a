/** Which texts name images. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isImageReference } from "../../core/images.ts";

const DIGEST = `sha256:${"0a".repeat(32)}`;

describe("names of images", () => {
  it.each([
    "debian",
    "debian:12",
    "python:3.12-slim",
    "swebench/sweb.eval.x86_64.django_1776_django-11099:latest",
    "ghcr.io/some-org/a_b/c--d:v1.2.3",
    "localhost:5000/x",
    `debian@${DIGEST}`,
    `debian:12@${DIGEST}`,
    DIGEST,
  ])("%s", (name) => expect(isImageReference(name)).toBe(true));

  it.each([
    "",
    "../localhost/secret",
    "x/../../localhost/evil",
    "//evil/x",
    "/x",
    "x/",
    "x y",
    "x?y=1",
    "x#y",
    "x%2e",
    "../containers/json?x=",
    "Upper/case:",
    "a".repeat(600),
    "x\n",
  ])("not %j", (name) => expect(isImageReference(name)).toBe(false));

  it("never hold what would lead an address elsewhere", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."a0./:@-_?#%\\ \n") }), (text) => {
        if (!isImageReference(text)) return;
        const path = new URL(`http://daemon/images/${text}/json`).pathname;
        expect(path).toBe(`/images/${text}/json`);
      }),
      { numRuns: 5000 },
    );
  });
});
