/** Changes of memories. */

import { type Call, del, part, patch, post, postOnce } from "../call.js";
import type {
  Draft,
  ErasedMemory,
  Imported,
  MemoryChange,
  MemoryEdit,
  MemoryOutcome,
  NewBody,
  NewImport,
  NewReview,
  NewRollBack,
  RolledBack,
} from "../forms/index.js";
import { of } from "./memories.js";

export type MemoryAction = "undo" | "confirm" | "core" | "wrong" | "retire" | "false-positive";

/**
 * Remember something; a text alone is a fact.
 *
 * The same `key` again changes nothing. Without it, the client makes one up.
 */
export function remember(
  body: NewBody | string,
  options: Omit<Draft, "body"> & { key?: string } = {},
): Call<MemoryOutcome> {
  const { key, ...draft } = options;
  const form = typeof body === "string" ? { kind: "fact", content: body } : body;
  return postOnce("/memories", { ...draft, body: form }, key);
}

/** Take over at most 200 memories of an export; a further part of it brings the `ids` of the answers before. */
export function importMemories(
  memories: NewImport["memories"],
  source: string,
  options: Pick<NewImport, "ids"> = {},
): Call<Imported> {
  return post("/memories/import", { ...options, memories, source });
}

/** Change the fields that `edit` has; null clears one. */
export function editMemory(id: string, edit: MemoryEdit): Call<MemoryChange> {
  return patch(of(id), edit);
}

/** Erase a memory for good; `confirm` is its id once more. */
export function eraseMemory(id: string, confirm: string): Call<ErasedMemory> {
  return del(of(id), { confirm });
}

/** Undo the last change of a memory, confirm it, mark it as core or wrong, retire it, or note a false positive. */
export function actOnMemory(id: string, action: MemoryAction): Call<MemoryChange> {
  return post(of(id, `/${part(action)}`));
}

/** Note what became of a decision. */
export function reviewMemory(
  id: string,
  outcome: NewReview["outcome"],
  options: Omit<NewReview, "outcome"> = {},
): Call<MemoryChange> {
  return post(of(id, "/review"), { ...options, outcome });
}

/** What an author wrote, taken out of use if `confirm` is true. */
export function rollBack(author: NewRollBack["author"], options: Omit<NewRollBack, "author"> = {}): Call<RolledBack> {
  return post("/memories/roll-back", { ...options, author });
}
