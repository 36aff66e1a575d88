// Requests to the HTTP API. The browser sends the cookie by itself.

const ROOT = "/api/v1";

/** What the server answered in place of what was asked for. */
export class ApiError extends Error {
  /**
   * @param {number} status 0 if there was no answer
   * @param {string} message
   * @param {string} [hint]
   * @param {string} [code]
   */
  constructor(status, message, hint, code) {
    super(message);
    this.status = status;
    this.hint = hint;
    this.code = code;
  }
}

/** @typedef {Record<string, string | number | boolean | null | undefined>} Query */

/**
 * @param {string} path below the API's root; its parts are encoded by `path`
 * @param {Query} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export function get(path, query = {}, signal) {
  return send("GET", path, query, undefined, signal);
}

/**
 * @param {"POST" | "PUT" | "PATCH" | "DELETE"} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {Query} [query]
 * @returns {Promise<any>}
 */
export function change(method, path, body, query = {}) {
  return send(method, path, query, body);
}

/**
 * Asks a question whose answer changes nothing, but whose text is too long for an address.
 * @param {string} path
 * @param {unknown} body
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export function ask(path, body, signal) {
  return send("POST", path, {}, body, signal);
}

/**
 * A path from parts, each encoded.
 * @param {...(string | number)} parts
 */
export function pathOf(...parts) {
  return parts.map((part) => `/${encodeURIComponent(String(part))}`).join("");
}

/**
 * @param {string} path
 * @param {Query} [query]
 */
export function address(path, query = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") parameters.set(name, String(value));
  }
  return `${ROOT}${path}${parameters.size > 0 ? `?${parameters}` : ""}`;
}

/**
 * @param {string} method
 * @param {string} path
 * @param {Query} query
 * @param {unknown} body
 * @param {AbortSignal} [signal]
 */
async function send(method, path, query, body, signal) {
  /** @type {RequestInit} */
  const options = { method, headers: { accept: "application/json" } };
  if (signal) options.signal = signal;
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { ...options.headers, "content-type": "application/json" };
  }
  let response;
  try {
    response = await fetch(address(path, query), options);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "Neap does not answer.", "Is `neap serve` or `neap ui` still running?");
  }
  const text = await response.text();
  const value = parse(text);
  if (!response.ok) {
    const problem = /** @type {Api.Problem | undefined} */ (value);
    throw new ApiError(response.status, problem?.detail ?? `Neap answered ${response.status}.`, problem?.hint, problem?.code);
  }
  return value;
}

/** @param {string} text */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
