/** The sandbox contract, run against the process runtime. */
import { sandboxContract } from "./sandbox.ts";

sandboxContract("process");
