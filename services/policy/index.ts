/** Policies: how they are asked, how their conversations become tokens, how a server comes to serve them. */
export {
  type Capabilities,
  type Completion,
  type CompletionTurn,
  type PolicyClient,
  PolicyError,
  type PolicyErrorKind,
} from "./client.ts";
export {
  CheckpointError,
  type CheckpointErrorKind,
  decodeCheckpoint,
  encodeCheckpoint,
  freshCheckpoint,
  type NanoCheckpoint,
} from "./nano/checkpoint.ts";
export {
  type Candidates,
  type Conversation,
  FEATURE_VERSION,
  openConversation,
  SLOTS,
} from "./nano/conversation.ts";
export { pretrain } from "./nano/pretrain.ts";
export { createPolicyServer, type PolicyServer, type PolicyServerOptions } from "./nano/server.ts";
export { createNanoTemplate } from "./nano/template.ts";
export { createOpenAIClient, type OpenAIClientOptions, requireTraining } from "./openai.ts";
export { publishPolicy, type ServedPolicy, servedPolicies } from "./publish.ts";
export type { ParsedReply, PolicyTemplate, ToolDefinition } from "./template.ts";
