// Dialogs: the browser's own element, which keeps the focus inside and returns it.

import { h } from "./dom.js";
import { visible } from "./safe_text.js";

/**
 * @param {string} title
 * @param {import("./dom.js").Child[]} content
 * @param {import("./dom.js").Child[]} [actions] beside the button that closes it
 */
export function openDialog(title, content, actions = []) {
  const close = h("button", { class: "button", type: "button", click: () => dialog.close() }, "Close");
  const dialog = h("dialog", { "aria-labelledby": "dialog-title" },
    h("div", { class: "stack" },
      h("h2", { id: "dialog-title" }, title),
      ...content,
      h("div", { class: "row apart" }, close, h("div", { class: "row" }, actions))));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Asks before something that cannot be taken back; the button works once the name is typed.
 * @param {object} options
 * @param {string} options.title
 * @param {import("./dom.js").Child[]} options.content what it takes along
 * @param {string} options.name what must be typed
 * @param {string} options.action the button's text
 * @param {() => Promise<void>} options.act
 */
export function confirmByName({ title, content, name, action, act }) {
  const field = h("input", { type: "text", autocomplete: "off", spellcheck: "false", autofocus: true });
  const button = h("button", { class: "button danger", type: "submit", disabled: true }, action);
  const refused = h("p", { class: "notice bad", role: "alert", hidden: true });
  field.addEventListener("input", () => (button.disabled = field.value !== name));
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await act();
      dialog.close();
    } catch (error) {
      refused.textContent = visible(error instanceof Error ? error.message : String(error));
      refused.hidden = false;
      button.disabled = false;
    }
  };
  const form = h("form", { submit },
    ...content,
    h("label", { class: "field" }, `Type ${name} to confirm`, field),
    refused,
    h("div", {}, button));
  const dialog = openDialog(title, [form]);
  dialog.classList.add("confirms");
  field.focus();
}

/** Resolves once nobody is asked to confirm anything, so that nothing is drawn anew under the question. */
export async function untilConfirmed() {
  const dialog = document.querySelector("dialog.confirms[open]");
  if (dialog) await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
}
