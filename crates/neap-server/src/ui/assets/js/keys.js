// Keyboard shortcuts, and the dialog that lists them.

import { h } from "./dom.js";
import { openDialog } from "./dialog.js";

/** @typedef {{ keys: string, does: string, act: () => void }} Shortcut */

/** How long the second key of two may take. */
const CHORD_MS = 1_200;

/** @type {Shortcut[]} */
const everywhere = [];
/** @type {Shortcut[]} */
let onScreen = [];

/** @param {Shortcut[]} shortcuts those that hold on every screen */
export function addShortcuts(shortcuts) {
  everywhere.push(...shortcuts);
}

/** @param {Shortcut[]} shortcuts those of the screen that is shown */
export function setScreenShortcuts(shortcuts) {
  onScreen = shortcuts;
}

export function listenForKeys() {
  let pending = "";
  let timer = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    const pressed = pending ? `${pending} ${event.key}` : event.key;
    clearTimeout(timer);
    pending = "";
    const all = [...onScreen, ...everywhere];
    const found = all.find((shortcut) => shortcut.keys === pressed);
    if (found) {
      event.preventDefault();
      found.act();
    } else if (all.some((shortcut) => shortcut.keys.startsWith(`${event.key} `))) {
      pending = event.key;
      timer = setTimeout(() => (pending = ""), CHORD_MS);
    }
  });
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== "range" && target.type !== "checkbox";
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

export function showShortcuts() {
  const list = (/** @type {Shortcut[]} */ shortcuts) =>
    h("dl", { class: "keys" }, shortcuts.flatMap(({ keys, does }) => [
      h("dt", {}, keys.split(" ").map((key) => h("kbd", {}, key === "Escape" ? "Esc" : key))),
      h("dd", {}, does),
    ]));
  const rows = h("dl", { class: "keys" },
    h("dt", {}, h("kbd", {}, "↑"), h("kbd", {}, "↓")), h("dd", {}, "move in a list"),
    h("dt", {}, h("kbd", {}, "Esc")), h("dd", {}, "close a dialog"));
  openDialog("Keyboard shortcuts", [
    onScreen.length > 0 && h("h3", {}, "On this screen"),
    onScreen.length > 0 && list(onScreen),
    h("h3", {}, "Everywhere"),
    list(everywhere),
    rows,
  ]);
}
