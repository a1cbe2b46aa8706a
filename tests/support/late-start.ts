/** Interceptors of a workflow bundle: the experiment `late` hears that its iteration has started only once it was amended. */
import { condition, type WorkflowInterceptors, workflowInfo } from "@temporalio/workflow";

export function interceptors(): WorkflowInterceptors {
  let amended = workflowInfo().workflowId !== "exp/late";
  return {
    inbound: [
      {
        async handleUpdate(input, next) {
          const answer = await next(input);
          amended ||= input.name === "amend";
          return answer;
        },
      },
    ],
    outbound: [
      {
        async startChildWorkflowExecution(input, next) {
          const started = await next(input);
          if (input.workflowType === "runIteration") await condition(() => amended);
          return started;
        },
      },
    ],
  };
}
