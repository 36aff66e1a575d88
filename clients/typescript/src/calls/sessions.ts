/** Calls about sessions. */

import { ask, type Call, del, download, type Download, get, part, postOnce, put } from "../call.js";
import type {
  Brief,
  ContextQuestion,
  EntriesAppended,
  Erased,
  Event,
  NewEntries,
  Original,
  Page,
  Receipt,
  Session,
  SessionDetail,
  SessionErasure,
  SessionReport,
  Settings,
} from "../forms/index.js";

/** What a host stored at once. */
export interface HostEntries {
  seq: number;
  at: number;
  entries: string[];
}

/** Which part of a list. */
export interface Paging {
  limit?: number | undefined;
  cursor?: string | null | undefined;
}

/** Sessions, last changed first; `q` is a part of the name. */
export function listSessions(
  options: Paging & { q?: string; project?: string; erased?: boolean } = {},
): Call<Page<Session>> {
  const { limit, cursor, q, project, erased } = options;
  return get("/sessions", { limit, cursor, q, project, erased });
}

/** A session. */
export function showSession(session: string): Call<SessionDetail> {
  return get(of(session));
}

/** Begin a session, or change its settings. */
export function putSession(session: string, settings: Settings = {}): Call<SessionDetail> {
  return put(of(session), settings);
}

/** Erase a session's words for good; `confirm` is its name once more. */
export function eraseSession(session: string, confirm: string): Call<Erased> {
  return del(of(session), { confirm });
}

/** What erasing a session would take. */
export function previewSessionErasure(session: string): Call<SessionErasure> {
  return get(of(session, "/erasure"));
}

/** All events of a session, oldest first. */
export function exportSession(session: string): Download<Event> {
  return download(of(session, "/export"));
}

/** Stores texts that only the caller reads: they come back as they are. One of a session's last keys again stores nothing. */
export function appendEntries(
  session: string,
  entries: NewEntries["entries"],
  options: { key?: string } = {},
): Call<EntriesAppended> {
  return postOnce(of(session, "/entries"), { entries }, options.key);
}

/** What `appendEntries` stored, oldest first; of events after `after`. */
export function readEntries(session: string, options: { after?: number } = {}): Download<HostEntries> {
  return download(of(session, "/entries"), { after: options.after });
}

/** The recorded events, oldest first. */
export function listEvents(session: string, options: Paging = {}): Call<Page<Event>> {
  const { limit, cursor } = options;
  return get(of(session, "/events"), { limit, cursor });
}

/** Figures of a session. */
export function sessionReport(session: string): Call<SessionReport> {
  return get(of(session, "/report"));
}

/** What each summary kept of its original, newest first. */
export function listReceipts(session: string, options: Paging = {}): Call<Page<Receipt>> {
  const { limit, cursor } = options;
  return get(of(session, "/receipts"), { limit, cursor });
}

/** The original text behind a handle. */
export function showOriginal(
  session: string,
  handle: string,
  options: { offset?: number; limit?: number } = {},
): Call<Original> {
  const { offset, limit } = options;
  return get(of(session, `/originals/${part(handle)}`), { offset, limit });
}

/** What to give a model of this session, within a budget of tokens. */
export function buildContext(session: string, options: ContextQuestion = {}): Call<Brief> {
  return ask(of(session, "/context"), options);
}

export function of(session: string, rest = ""): string {
  return `/sessions/${part(session)}${rest}`;
}
