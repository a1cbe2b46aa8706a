/** Policies: how they are asked, how their conversations become tokens, how a server comes to serve them. */
export { type Completion, type CompletionTurn, type PolicyClient, PolicyError } from "./client.ts";
export type { Engine } from "./engine.ts";
export { createEngineClient, createEngineFleet } from "./engine-fleet.ts";
export { createDriver, type DriverLimits, type EngineDriver } from "./engines/index.ts";
export type { FleetWatch } from "./fleet.ts";
export { checkModelFolder } from "./model/folder.ts";
export { createTemplateSource } from "./model/of-checkpoint.ts";
export { createModelTemplate } from "./model/template.ts";
export {
  CheckpointError,
  decodeCheckpoint,
  encodeCheckpoint,
  freshCheckpoint,
  type NanoCheckpoint,
} from "./nano/checkpoint.ts";
export { type Candidates, type Conversation, openConversation, SLOTS } from "./nano/conversation.ts";
export { pretrain } from "./nano/pretrain.ts";
export { createPolicyServer, type PolicyServer } from "./nano/server.ts";
export { createNanoTemplate } from "./nano/template.ts";
export { createOpenAIClient } from "./openai.ts";
export { publishPolicy, servedPolicies } from "./publish.ts";
export { requireTraining } from "./reply.ts";
export { decodeStandIn, encodeStandIn } from "./stand-in/checkpoint.ts";
export type { AnswerBook } from "./stand-in/complete.ts";
export type { PolicyTemplate, ToolDefinition } from "./template.ts";
export type { VersionSource } from "./vllm.ts";
