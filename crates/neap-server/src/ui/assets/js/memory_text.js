// What a memory says, and how its fields are named and edited.

import { oneLine } from "./safe_text.js";

export const KINDS = ["fact", "decision", "procedure", "episode", "censor"];
export const STATUSES = ["new", "confirmed", "core", "recorded", "pending", "reviewed", "active", "effective", "ineffective", "created", "escalated", "summarized", "archived", "superseded", "inactive", "retired"];
export const AUTHORS = ["person", "model", "tool", "import"];
const AUTHOR_NAMES = new Map([["person", "a person"], ["model", "a model"], ["tool", "a tool"], ["import", "an import"]]);
export const TRUSTS = ["high", "medium", "low"];

/** Fields that a person may write, by kind; `list` has one entry a line. */
/** @type {Record<string, { name: string, label: string, as: "line" | "text" | "list" | "number" }[]>} */
export const FIELDS = {
  fact: [{ name: "subject", label: "Subject", as: "line" }, { name: "content", label: "Fact", as: "text" }, { name: "confidence", label: "Confidence (0 to 1)", as: "number" }],
  decision: [{ name: "description", label: "Decision", as: "text" }, { name: "context", label: "Situation", as: "text" }, { name: "category", label: "Topic", as: "line" }, { name: "alternatives", label: "Alternatives, one a line", as: "list" }, { name: "confidence", label: "Confidence (0 to 1)", as: "number" }],
  procedure: [{ name: "name", label: "Name", as: "line" }, { name: "core_patterns", label: "Used for, one a line", as: "list" }, { name: "steps", label: "Steps, one a line", as: "list" }],
  episode: [{ name: "summary", label: "Summary", as: "text" }, { name: "outcome", label: "Outcome", as: "line" }, { name: "lessons", label: "Lessons, one a line", as: "list" }],
  censor: [{ name: "reason", label: "Reason, shown to the model", as: "text" }],
};

/**
 * The one line that a list shows.
 * @param {Api.Memory} memory
 */
export function memoryLine(memory) {
  const { body } = memory;
  switch (body.kind) {
    case "fact":
      return oneLine(body.subject ? `${body.subject}: ${body.content}` : String(body.content ?? ""), 200);
    case "decision":
      return oneLine(String(body.description ?? ""), 200);
    case "procedure":
      return oneLine(`${body.name}: ${(body.steps ?? []).join(", ")}`, 200);
    case "episode":
      return oneLine(String(body.summary ?? ""), 200);
    case "censor":
      return oneLine(`${patternText(body.pattern)}: ${body.action}, ${body.reason}`, 200);
    default:
      return oneLine(JSON.stringify(body), 200);
  }
}

/** @param {string} author */
export function authorName(author) {
  return AUTHOR_NAMES.get(author) ?? oneLine(author, 40);
}

/** @param {{ by?: string, of?: string } | undefined} pattern */
function patternText(pattern) {
  if (pattern?.by === "regex") return `/${pattern.of}/`;
  return pattern?.by === "like" ? `like "${pattern.of}"` : String(pattern?.of ?? "");
}

/**
 * The fields of a body as rows of names and texts.
 * @param {Record<string, any>} body
 * @returns {[string, string][]}
 */
export function bodyRows(body) {
  /** @type {[string, string][]} */
  const rows = [];
  for (const [name, value] of Object.entries(body)) {
    if (name === "kind" || value === null || value === "" || (Array.isArray(value) && value.length === 0)) continue;
    rows.push([name, fieldText(name, value)]);
  }
  return rows;
}

/** @param {string} name @param {any} value */
function fieldText(name, value) {
  if (name === "pattern") return patternText(value);
  if (name === "reasons") return value.map((/** @type {{ kind: string, text: string }} */ reason) => `${reason.kind}: ${reason.text}`).join("\n");
  if (Array.isArray(value)) return value.map(String).join("\n");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** What stands beside a memory's status. @param {Api.Memory} memory @returns {[string, string][]} kind and text */
export function marks(memory) {
  /** @type {[string, string][]} */
  const list = [];
  if (memory.pinned) list.push(["accent", "always"]);
  if (memory.pin_asked) list.push(["warn", "always?"]);
  if (memory.contested_with?.length) list.push(["warn", "contested"]);
  if (memory.shaken_by?.length) list.push(["warn", "shaken"]);
  if (memory.forget_asked) list.push(["bad", "to be forgotten?"]);
  return list;
}

/** @param {string} status */
export function statusKind(status) {
  if (["superseded", "inactive", "retired", "archived", "ineffective"].includes(status)) return "";
  return ["confirmed", "core", "reviewed", "effective", "active"].includes(status) ? "good" : "accent";
}
