/** Neap: an LLM agent's context, bounded; its past, within reach. */

export type { EffortAction } from "./calls/efforts.js";
export type { MemoryFilter, MemoryKind, Trust } from "./calls/memories.js";
export type { MemoryAction } from "./calls/memory-changes.js";
export type { Paging } from "./calls/sessions.js";
export type { TurnNumber, TurnPaging } from "./calls/turns.js";
export { Neap, type NeapOptions } from "./client.js";
export {
  ApiError,
  Conflict,
  Malformed,
  NeapError,
  NotAllowed,
  NotFound,
  ProgramMissing,
  Refused,
  ServerUnavailable,
  StoreBusy,
  VersionMismatch,
} from "./errors.js";
export type * from "./forms/index.js";
export type { ChangeEvent, Happened, LiveEvent, OpenEvent, RequestEvent } from "./live.js";
export { findProgram } from "./program.js";
export type { Routes } from "./routes.js";
export type { ServerOptions } from "./server.js";
export { VERSION } from "./version.js";
