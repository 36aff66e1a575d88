/** Calls about the efforts of a session. */

import { type Call, get, part, post } from "../call.js";
import type { Effort, Exchange, Page, ToolReply } from "../forms/index.js";
import { of, type Paging } from "./sessions.js";

export type EffortAction = "expand" | "collapse" | "conclude" | "reopen" | "switch";

/** Efforts, open ones first. */
export function listEfforts(session: string, options: Paging = {}): Call<Page<Effort>> {
  const { limit, cursor } = options;
  return get(of(session, "/efforts"), { limit, cursor });
}

/** Open an effort. */
export function openEffort(session: string, name: string): Call<ToolReply> {
  return post(of(session, "/efforts"), { name });
}

/** An effort. */
export function showEffort(session: string, effort: string): Call<Effort> {
  return get(of(session, `/efforts/${part(effort)}`));
}

/** The log of an effort, newest first; of `ambient`: chat outside efforts. */
export function listLog(session: string, effort: string, options: Paging = {}): Call<Page<Exchange>> {
  const { limit, cursor } = options;
  return get(of(session, `/efforts/${part(effort)}/log`), { limit, cursor });
}

/** Expand, collapse, conclude or reopen an effort, or switch to it. */
export function actOnEffort(session: string, effort: string, action: EffortAction): Call<ToolReply> {
  return post(of(session, `/efforts/${part(effort)}/${part(action)}`));
}
