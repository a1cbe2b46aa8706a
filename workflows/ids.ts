export { experimentId, tryId } from "../core/ids.ts";
