/** Which ports a stack takes. */
import { createServer } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { basePort, givenPorts, isFree, type Ports, portNames, stackPorts } from "../../infra/stack/ports.ts";

const allFree = async () => true;

describe("stackPorts", () => {
  it("gives every name a free port of its own, whatever is occupied and whatever is remembered", async () => {
    const port = fc.integer({ min: 20000, max: 20050 });
    const remembered = fc.option(fc.record(Object.fromEntries(portNames.map((name) => [name, port]))));
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.uniqueArray(port), remembered, async (folder, occupied, old) => {
        const ports = await stackPorts(
          folder,
          {},
          old as Ports | null,
          async (each) => !occupied.includes(each),
        );
        expect(new Set(Object.values(ports)).size).toBe(portNames.length);
        for (const each of Object.values(ports)) expect(occupied).not.toContain(each);
      }),
    );
  });

  it("is the same for the same folder, and keeps what is remembered and free", async () => {
    const first = await stackPorts("/data", {}, null, allFree);
    expect(await stackPorts("/data", {}, null, allFree)).toEqual(first);
    const moved = { ...first, policy: 31999 };
    expect(await stackPorts("/data", {}, moved, allFree)).toEqual(moved);
    expect(await stackPorts("/data", {}, moved, async (port) => port !== 31999)).toMatchObject({
      temporal: first.temporal,
      policy: expect.not.toSatisfy((port: number) => port === 31999),
    });
  });

  it("stays below the ephemeral ports", () => {
    fc.assert(fc.property(fc.string(), (folder) => basePort(folder) >= 20000 && basePort(folder) < 32000));
  });

  it("takes a port given by hand, and refuses an occupied one by its variable's name", async () => {
    expect(await stackPorts("/data", { TADPOLE_TEMPORAL_UI_PORT: "8233" }, null, allFree)).toMatchObject({
      temporalUi: 8233,
    });
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    expect(await isFree(port)).toBe(false);
    await expect(stackPorts("/data", { TADPOLE_POSTGRES_PORT: String(port) }, null)).rejects.toMatchObject({
      kind: "port",
      message: expect.stringContaining(`TADPOLE_POSTGRES_PORT: port ${port} is occupied`),
    });
    await new Promise((resolve) => server.close(resolve));
    expect(await isFree(port)).toBe(true);
  });
});

describe("givenPorts", () => {
  it.each(["0", "65536", "-1", "80.5", "http", " "])("refuses %j and names the variable", (text) => {
    expect(() => givenPorts({ TADPOLE_POLICY_PORT: text })).toThrow(
      /TADPOLE_POLICY_PORT: expected a port number/,
    );
  });

  it("refuses one port for two servers", () => {
    expect(() => givenPorts({ TADPOLE_TEMPORAL_PORT: "7233", TADPOLE_POLICY_PORT: "7233" })).toThrow(
      /7233 is also TADPOLE_TEMPORAL_PORT/,
    );
  });

  it("ignores an empty variable", () => {
    expect(givenPorts({ TADPOLE_POLICY_PORT: "" })).toEqual({});
  });
});
