/** All attacks. */
import type { Attack } from "../types.ts";
import { GO } from "./go.ts";
import { JEST } from "./jest.ts";
import { LIMITS } from "./limits.ts";
import { NETWORK } from "./network.ts";
import { NODE_CODE } from "./node-code.ts";
import { NODE_FILES } from "./node-files.ts";
import { NODE_TOOLS } from "./node-tools.ts";
import { ODDITIES } from "./oddities.ts";
import { PYTHON } from "./python.ts";
import { REWARDS } from "./rewards.ts";
import { THEFT } from "./theft.ts";

export const ATTACKS: readonly Attack[] = [
  ...NETWORK,
  ...THEFT,
  ...NODE_FILES,
  ...NODE_CODE,
  ...JEST,
  ...NODE_TOOLS,
  ...PYTHON,
  ...GO,
  ...REWARDS,
  ...LIMITS,
  ...ODDITIES,
];
