/** A request the policy server refuses, in the form OpenAI's clients expect. */

export class RequestError extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "RequestError";
    this.status = status;
    this.code = code;
  }
}

export function badRequest(field: string, expected: string): RequestError {
  return new RequestError(400, "invalid_value", `${field}: expected ${expected}`);
}

/** https://platform.openai.com/docs/guides/error-codes */
export function errorBody(error: RequestError): object {
  const type = error.status >= 500 ? "server_error" : "invalid_request_error";
  return { error: { message: error.message, type, param: null, code: error.code } };
}
