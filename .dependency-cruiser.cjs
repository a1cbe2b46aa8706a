/** The import arrows of docs/architecture.md. `infra/arrows.ts` runs them and fails when nothing was cruised. */
const only = (name, from, to, comment) => ({ name, severity: "error", comment, from: { path: from }, to: { path: "^(core|workflows|activities|services|workers|infra|apps|bench|tests)/", pathNot: to } });
module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } } },
    only("core-is-pure", "^core/", "^core/", "core imports only core"),
    { name: "core-no-packages", severity: "error", from: { path: "^core/(?!schemas/)" }, to: { dependencyTypes: ["npm", "npm-dev", "core"] } },
    only("workflows-see-core", "^workflows/", "^(workflows|core/(?!schemas)|activities/)", "workflows import core (no schemas) and types of activities"),
    { name: "workflows-types-of-activities-only", severity: "error", from: { path: "^workflows/" }, to: { path: "^activities/", dependencyTypesNot: ["type-only"] } },
    only("activities-see-services", "^activities/", "^(activities|services|core)/", "activities import services and core"),
    only("services-see-core", "^services/", "^(services|core)/", "services import core and each other's index"),
    { name: "services-by-index", severity: "error", comment: "one service imports another's index.ts or interface file only", from: { path: "^services/([^/]+)/" }, to: { path: "^services/(?!$1/)[^/]+/", pathNot: "^services/[^/]+/(index|runtime|client|template|trainer|batch|types|schema)\\.ts$" } },
    only("workers-below-apps", "^workers/", "^(workers|workflows|activities|services|core|infra)/", "workers import everything below apps"),
    only("apps-are-faces", "^apps/", "^(apps|workflows|services/store|infra/stack|core|services/[^/]+/index\\.ts)", "apps import workflows, the store, the stack and core"),
  ],
  options: { tsPreCompilationDeps: true, tsConfig: { fileName: "tsconfig.json" }, doNotFollow: { path: "node_modules" }, enhancedResolveOptions: { extensions: [".ts", ".mjs", ".js"] } },
};
