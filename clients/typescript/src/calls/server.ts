/** Calls about the server as a whole, and the search. */

import { ask, type Call, get, watch, type Watch } from "../call.js";
import type {
  Document,
  Expected,
  ExpectedSearch,
  Health,
  Hit,
  Jobs,
  Page,
  RequestLog,
  Search,
  StoreReport,
} from "../forms/index.js";

/** Whether the store answers. */
export function health(): Call<Health> {
  return get("/health");
}

/** The document of the API. */
export function openapi(): Call<Document> {
  return get("/openapi.json");
}

/** Totals of all sessions. */
export function report(): Call<StoreReport> {
  return get("/report");
}

/** What goes on in the background. */
export function jobs(): Call<Jobs> {
  return get("/jobs");
}

/** The proxy's last requests. */
export function requests(options: { after?: number } = {}): Call<RequestLog> {
  return get("/requests", { after: options.after });
}

/** What happens now; from the event after `lastEventId`, if that is given. */
export function events(options: { lastEventId?: string } = {}): Watch {
  return watch("/events", options.lastEventId);
}

/** Search what was said. */
export function search(query: string, options: Omit<Search, "query"> = {}): Call<Page<Hit>> {
  return ask("/search", { ...options, query });
}

/** Why a search finds a text or not: `expected` is a turn such as auth/t3, an effort's id or a memory's. */
export function expect(
  query: string,
  expected: string,
  options: Omit<ExpectedSearch, "query" | "expect"> = {},
): Call<Expected> {
  return ask("/search/expect", { ...options, query, expect: expected });
}
