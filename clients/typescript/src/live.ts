/** What happens now, as GET /events sends it. */

import type { LoggedRequest } from "./forms/index.js";

/** The first event of a connection. If it did not resume, load anew what you show. */
export interface OpenEvent {
  id: string;
  event: "open";
  data: { resumed: boolean };
}

export interface RequestEvent {
  id: string;
  event: "request";
  data: LoggedRequest;
}

export interface ChangeEvent {
  id: string;
  event: "turn" | "rewrite" | "effort" | "memory" | "session";
  data: Happened;
}

export interface Happened {
  session: string | null;
  turn: number | null;
  seq: number;
  at: number;
  kind: string;
  ids?: string[];
}

export type LiveEvent = OpenEvent | RequestEvent | ChangeEvent;
