// The screen Sessions: all of them; each can be opened, exported and erased.

import { address, change, get, pathOf } from "../api.js";
import { confirmByName } from "../dialog.js";
import { fill, h } from "../dom.js";
import { noSessionBox } from "../empty.js";
import { ago, count, counted, dollars } from "../format.js";
import { KeysetList } from "../keyset.js";
import { gather, onLive } from "../live.js";
import { rowPixels } from "../master_detail.js";
import { notify } from "../notice.js";
import { placeHash } from "../router.js";
import { oneLine } from "../safe_text.js";
import { screenHead } from "../screen_head.js";
import { virtualList } from "../virtual_list.js";

const TYPING_WAIT_MS = 180;

/** @type {import("../screens.js").Show} */
export async function show(host, { signal }) {
  /** @type {KeysetList<Api.SessionRow>} */
  let sessions = new KeysetList("/sessions", {}, signal);
  const search = h("input", { type: "search", autocomplete: "off", spellcheck: "false", "aria-label": "Part of a name", placeholder: "Part of a name", class: "search-field", input: () => typed() });
  const list = virtualList({ label: "Sessions", rowHeight: rowPixels(4.25), row: drawRow, onRange: (_, last) => fetchMore(last) });
  const card = h("div", { class: "card flush" }, list.element);
  fill(host, screenHead("sessions", search), card);

  /** @param {number} index */
  function drawRow(index) {
    const row = sessions.items[index];
    if (!row) return h("div", { class: "list-head" }, "…");
    const spent = (row.cost?.nanodollars ?? 0) / 1e9 + (row.passed?.cost?.sent_nanodollars ?? 0) / 1e9;
    const facts = [counted(row.turns, "turn"), counted(row.efforts, "effort"), spent > 0 ? dollars(spent) : "", ago(row.updated, Date.now())];
    const name = oneLine(row.session, 100);
    return h("div", { class: "session-row" },
      h("a", { class: "item grows", href: placeHash("context", row.session) },
        h("span", { class: "clip session-name" }, h("span", { class: "top" }, name), h("span", { class: "below" }, facts.filter(Boolean).join(" · ")))),
      h("a", { class: "button plain", href: address(pathOf("sessions", row.session, "export")), download: `${row.session}.jsonl`, "aria-label": `Export ${name}` }, "Export"),
      h("button", { class: "button plain erase", type: "button", "aria-label": `Erase ${name}`, click: () => erase(row.session) }, "Erase …"));
  }

  /** @param {number} last */
  async function fetchMore(last) {
    if (last < sessions.items.length - 20 || sessions.isWhole || sessions.fetching !== null) return;
    await sessions.reach(sessions.items.length + 1);
    if (!signal.aborted) list.setCount(sessions.items.length);
  }

  /** @param {string} session */
  async function erase(session) {
    try {
      /** @type {{ turns: number, efforts: number }} */
      const preview = await get(pathOf("sessions", session, "erasure"), {}, signal);
      confirmByName({
        title: "Erase a session", name: session, action: "Erase for good",
        content: [
          h("p", {}, h("strong", {}, oneLine(session, 200)), ` has ${counted(preview.turns, "turn")} and ${counted(preview.efforts, "effort")}.`),
          h("p", {}, "All its text leaves the store, its folder and the input history; only the fact that it was erased remains. This cannot be undone. Export it first to keep a copy."),
        ],
        act: async () => {
          const erased = await change("DELETE", pathOf("sessions", session), undefined, { confirm: session });
          notify(`Erased: ${count(erased.events)} events.`);
          await load();
        },
      });
    } catch (error) {
      notify(error instanceof Error ? error.message : String(error), "bad");
    }
  }

  async function load() {
    const fresh = /** @type {KeysetList<Api.SessionRow>} */ (new KeysetList("/sessions", { q: search.value.trim() }, signal));
    await fresh.reach(1);
    sessions = fresh;
    if (sessions.items.length === 0 && search.value.trim() === "") {
      fill(host, screenHead("sessions"), noSessionBox());
      return;
    }
    if (!card.isConnected) fill(host, screenHead("sessions", search), card);
    list.setCount(sessions.items.length);
  }

  const typed = gather(load, TYPING_WAIT_MS, signal);
  const reload = gather(load, 1_000, signal);
  onLive(({ kind }) => {
    if (kind === "session") reload();
  }, signal);
  await load();
}
