/** The import arrows of docs/architecture.md. `infra/arrows.ts` runs them and fails when a file was not looked at. */
const ours = "^(core|workflows|activities|services|workers|infra|apps|attacks|bench|chaos|tests)/";

/** `from` may import no other folder of this project than `to`. */
function only(name, from, to, comment) {
  return { name, comment, severity: "error", from: { path: from }, to: { path: ours, pathNot: to } };
}

/** `from` may not import what `to` describes. */
function never(name, from, to, comment) {
  return { name, comment, severity: "error", from: { path: from }, to };
}

const interfaceFiles = "(index|runtime|client|template|trainer|batch|types|errors)\\.ts$";

module.exports = {
  forbidden: [
    {
      name: "no-cycles",
      comment: "no import cycles (types alone may point both ways)",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    {
      name: "no-unresolved",
      comment: "an import that does not resolve is an arrow nobody checked",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
    only("core-is-pure", "^core/", "^core/", "core imports only core"),
    never(
      "core-no-packages",
      "^core/(?!schemas/)",
      { path: "node_modules/" },
      "core is types and maths: no package (zod in core/schemas only)",
    ),
    never("core-no-node", "^core/(?!schemas/)", { dependencyTypes: ["core"] }, "core does no I/O"),
    only(
      "workflows-see-core",
      "^workflows/",
      "^(workflows/|core/(?!schemas)|activities/)",
      "workflows import core (no schemas) and types of activities",
    ),
    never(
      "workflows-types-of-activities",
      "^workflows/",
      { path: "^activities/", dependencyTypesNot: ["type-only"] },
      "workflows know activities by their types only",
    ),
    never(
      "workflows-small-bundle",
      "^workflows/",
      { path: "node_modules/", pathNot: "node_modules/@temporalio/(workflow|common)/" },
      "no package but Temporal's own in the workflow bundle",
    ),
    never("workflows-no-node", "^workflows/", { dependencyTypes: ["core"] }, "workflows are deterministic"),
    only(
      "activities-see-services",
      "^activities/",
      "^(activities|services|core)/",
      "activities import services and core",
    ),
    only("services-see-core", "^services/", "^(services|core)/", "services import services and core"),
    never(
      "services-by-index",
      "^services/([^/]+)/",
      { path: "^services/(?!$1/)[^/]+/", pathNot: `^services/[^/]+/${interfaceFiles}` },
      "one service imports another's index or interface file only",
    ),
    only(
      "workers-below-apps",
      "^workers/",
      "^(workers|workflows|activities|services|core|infra)/",
      "workers import everything below apps",
    ),
    only(
      "infra-below-workers",
      "^infra/stack/",
      "^infra/(stack|bootstrap)/",
      "the stack knows processes, not what they do",
    ),
    only(
      "apps-are-faces",
      "^apps/",
      "^(apps/|workflows/|activities/types\\.ts|services/store/|infra/stack/|core/|services/[^/]+/index\\.ts)",
      "apps import workflows, the store, the stack, core and the services' indexes",
    ),
    only(
      "attacks-see-services",
      "^attacks/",
      "^(attacks/|services/[^/]+/index\\.ts|core/)",
      "attacks use boxes and the grader as a worker does, by the services' indexes",
    ),
    only(
      "chaos-stands-outside",
      "^chaos/",
      "^(chaos/|apps/(control|cli)/|services/store/|services/sandbox/index\\.ts|infra/stack/|core/)",
      "chaos starts experiments as a face does, and looks at stacks, records and sandboxes",
    ),
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: { extensions: [".ts", ".mts", ".mjs", ".js"] },
  },
};
