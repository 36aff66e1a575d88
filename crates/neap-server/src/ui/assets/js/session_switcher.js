// Which session is shown, and the dialog that changes it.

import { get } from "./api.js";
import { openDialog } from "./dialog.js";
import { fill, h } from "./dom.js";
import { ago, count, counted } from "./format.js";
import { parsePlace, placeHash } from "./router.js";
import { oneLine } from "./safe_text.js";
import { screenOf } from "./screens.js";

const REMEMBERED = "neap-session";
const SHOWN_MAX = 50;

/**
 * The session that the address names, else the last one that was shown, else the newest; empty if there is none.
 * @param {string} named
 * @param {AbortSignal} signal
 */
export async function chooseSession(named, signal) {
  if (named !== "") return named;
  /** @type {Api.Page<Api.SessionRow>} */
  const page = await get("/sessions", { limit: SHOWN_MAX }, signal);
  let last = null;
  try {
    last = localStorage.getItem(REMEMBERED);
  } catch {
    // Without storage, the newest is shown.
  }
  const found = page.items.find((row) => row.session === last) ?? page.items[0];
  return found?.session ?? "";
}

/** @param {string} session */
export function rememberSession(session) {
  try {
    if (session !== "") localStorage.setItem(REMEMBERED, session);
  } catch {
    // Without storage, the newest is shown next time.
  }
}

export function openSwitcher() {
  const place = parsePlace(location.hash);
  const target = screenOf(place.screen)?.ofSession ? place.screen : "context";
  const list = h("ul", { class: "choices" });
  const field = h("input", { type: "search", autocomplete: "off", spellcheck: "false", placeholder: "part of a name" });
  const dialog = openDialog("Sessions", [h("label", { class: "field" }, "Find", field), list],
    [h("a", { class: "button", href: "#/sessions", click: () => dialog.close() }, "All sessions")]);
  let asked = new AbortController();

  async function load() {
    asked.abort();
    asked = new AbortController();
    try {
      /** @type {Api.Page<Api.SessionRow>} */
      const page = await get("/sessions", { limit: SHOWN_MAX, q: field.value }, asked.signal);
      fill(list, page.items.map((row) => h("li", {}, choice(row))));
      if (page.items.length === 0) fill(list, h("li", { class: "muted" }, "No session has such a name."));
    } catch (error) {
      if (!asked.signal.aborted) fill(list, h("li", { class: "muted" }, error instanceof Error ? error.message : ""));
    }
  }

  /** @param {Api.SessionRow} row */
  function choice(row) {
    const now = Date.now();
    return h("a", { class: "choice", href: placeHash(target, row.session), click: () => dialog.close() },
      h("span", { class: "grows clip" }, oneLine(row.session, 120)),
      h("span", { class: "muted small" }, `${counted(row.turns, "turn")} · ${count(row.efforts)} efforts · ${ago(row.updated, now)}`));
  }

  field.addEventListener("input", load);
  field.focus();
  load();
}
