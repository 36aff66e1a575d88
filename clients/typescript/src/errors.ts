/** What can go wrong, by what a caller can do about it. */

/** Every error of this package. `hint` says what to do. */
export class NeapError extends Error {
  constructor(
    message: string,
    readonly hint: string,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
  }

  override toString(): string {
    return `${this.name}: ${this.message}\nhint: ${this.hint}`;
  }
}

/** There is no program to start. */
export class ProgramMissing extends NeapError {}

/** The server is of another version, or is none of Neap's. */
export class VersionMismatch extends NeapError {}

/** The server could not be started or reached, or broke off. */
export class ServerUnavailable extends NeapError {}

/** The server's answer is an error. */
export class ApiError extends NeapError {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    hint: string,
  ) {
    super(detail, hint);
  }
}

/** 400, 413, 415: the request is not what the route takes. */
export class Malformed extends ApiError {}

/** 401, 403: the key is wrong, or may not do this. */
export class NotAllowed extends ApiError {}

/** 404: there is no such thing. */
export class NotFound extends ApiError {}

/** 409: somebody else was first, or the id was used for something else. */
export class Conflict extends ApiError {}

/** 422: a rule refuses it. */
export class Refused extends ApiError {}

/** 503: the store is busy, or does not answer. */
export class StoreBusy extends ApiError {}

export const STORE_BUSY = 503;

const BY_STATUS: Record<number, typeof ApiError> = {
  400: Malformed,
  401: NotAllowed,
  403: NotAllowed,
  404: NotFound,
  409: Conflict,
  413: Malformed,
  415: Malformed,
  422: Refused,
  [STORE_BUSY]: StoreBusy,
};
const SHOWN_CHARS_MAX = 200;

/** The error that an answer stands for. */
export function errorOf(status: number, content: string): ApiError {
  const kind = BY_STATUS[status] ?? ApiError;
  const { code, detail, hint } = fieldsOf(content);
  if (typeof code === "string" && typeof detail === "string" && typeof hint === "string") {
    return new kind(status, code, detail, hint);
  }
  const shown = `the server answered ${status}: ${content.slice(0, SHOWN_CHARS_MAX)}`;
  return new kind(status, "unknown", shown, "check that baseUrl is Neap's own address");
}

/** Those of a JSON object; none of anything else. */
export function fieldsOf(content: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(content);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
