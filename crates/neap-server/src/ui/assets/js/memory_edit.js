// The form that edits a memory.

import { change, pathOf } from "./api.js";
import { openDialog } from "./dialog.js";
import { h } from "./dom.js";
import { FIELDS } from "./memory_text.js";
import { visible } from "./safe_text.js";

/**
 * @param {Api.Memory} memory
 * @param {(changed: Api.MemoryChange) => void} onSaved
 */
export function openEditor(memory, onSaved) {
  const fields = (FIELDS[memory.body.kind] ?? []).map((field) => {
    const before = asText(memory.body[field.name], field.as);
    const input = field.as === "line" || field.as === "number"
      ? h("input", { type: "text", value: before, inputmode: field.as === "number" ? "decimal" : null })
      : h("textarea", { rows: 4 });
    input.value = before;
    return { ...field, before, input };
  });
  const tagsBefore = (memory.tags ?? []).join(", ");
  const tags = h("input", { type: "text", value: tagsBefore });
  const refused = h("p", { class: "notice bad", role: "alert", hidden: true });
  const save = h("button", { class: "button main-action", type: "submit" }, "Save");

  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    save.disabled = true;
    try {
      const changed = await change("PATCH", pathOf("memories", memory.id), draft());
      dialog.close();
      onSaved(changed);
    } catch (error) {
      refused.textContent = visible(error instanceof Error ? error.message : String(error));
      refused.hidden = false;
      save.disabled = false;
    }
  };

  /** Only what differs. */
  function draft() {
    /** @type {Record<string, unknown>} */
    const body = {};
    for (const { name, as, before, input } of fields) {
      if (input.value !== before) body[name] = asValue(input.value, as);
    }
    /** @type {Record<string, unknown>} */
    const part = {};
    if (Object.keys(body).length > 0) part.body = { kind: memory.body.kind, ...body };
    if (tags.value !== tagsBefore) part.tags = tags.value.split(",").map((tag) => tag.trim()).filter((tag) => tag !== "");
    return part;
  }

  const dialog = openDialog(`Edit ${memory.id}`, [h("form", { submit },
    fields.map(({ label, input }) => h("label", { class: "field" }, label, input)),
    h("label", { class: "field" }, "Tags, with commas", tags),
    refused,
    h("div", {}, save))]);
  fields[0]?.input.focus();
}

/** @param {any} value @param {string} as */
export function asText(value, as) {
  if (value === null || value === undefined) return "";
  return as === "list" && Array.isArray(value) ? value.join("\n") : String(value);
}

/** @param {string} text @param {string} as */
export function asValue(text, as) {
  if (as === "list") return text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  if (as === "number") return text.trim() === "" ? null : Number(text);
  return text.trim() === "" ? null : text;
}
