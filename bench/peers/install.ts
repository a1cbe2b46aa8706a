/** `node bench/peers/install.ts`: brings the peers that benches compare with, into virtual environments outside the checkout. Minutes. */
import { installHarbor } from "../../tests/support/harbor.ts";
import { installMiniSweAgent } from "./mini-swe-agent.ts";

installMiniSweAgent();
installHarbor();
