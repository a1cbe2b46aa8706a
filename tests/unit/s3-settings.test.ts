/** Where artifacts are, as the environment says it. */
import { describe, expect, it } from "vitest";
import { cacheBytes, describeS3, s3Settings } from "../../services/store/s3-settings.ts";

describe("TADPOLE_ARTIFACTS", () => {
  it("names nothing, a bucket, or a folder in one", () => {
    expect(s3Settings({})).toBeNull();
    const amazon = { endpoint: null, region: "us-east-1" };
    expect(s3Settings({ TADPOLE_ARTIFACTS: "s3://tadpole" })).toEqual({
      bucket: "tadpole",
      prefix: "",
      ...amazon,
    });
    const env = { TADPOLE_ARTIFACTS: "s3://tadpole//runs/july/", AWS_REGION: "eu-central-1" };
    expect(s3Settings(env)).toEqual({
      bucket: "tadpole",
      prefix: "runs/july",
      endpoint: null,
      region: "eu-central-1",
    });
    const own = { ...env, TADPOLE_S3_ENDPOINT: "http://10.0.0.2:9000", TADPOLE_S3_REGION: "here" };
    expect(describeS3(s3Settings(own)!)).toBe("s3://tadpole/runs/july at http://10.0.0.2:9000");
    expect(s3Settings(own)?.region).toBe("here");
  });

  it.each([
    "tadpole",
    "s3://",
    "s3://UPPER/x",
    "https://bucket.s3.amazonaws.com",
    "s3://b",
    "s3://bucket/a b",
  ])("refuses %s", (text) => {
    expect(() => s3Settings({ TADPOLE_ARTIFACTS: text })).toThrow(
      expect.objectContaining({
        kind: "settings",
        message: expect.stringMatching(/^TADPOLE_ARTIFACTS: expected/),
      }),
    );
  });

  it("refuses an endpoint that holds a password, and does not repeat it", () => {
    const env = { TADPOLE_ARTIFACTS: "s3://tadpole", TADPOLE_S3_ENDPOINT: "https://me:secret@host" };
    expect(() => s3Settings(env)).toThrow(/^TADPOLE_S3_ENDPOINT: expected (?!.*secret)/);
  });
});

it("the cache has 20 GiB unless the environment says otherwise", () => {
  expect(cacheBytes({})).toBe(20 * 2 ** 30);
  expect(cacheBytes({ TADPOLE_ARTIFACT_CACHE_MB: "3" })).toBe(3 * 2 ** 20);
  expect(cacheBytes({ TADPOLE_ARTIFACT_CACHE_MB: "0" })).toBe(0);
  for (const wrong of ["many", "-1", "1.5"])
    expect(() => cacheBytes({ TADPOLE_ARTIFACT_CACHE_MB: wrong })).toThrow(
      expect.objectContaining({ kind: "settings" }),
    );
});
