// All turns of a session, newest first; only those in view are fetched.

import { pathOf } from "./api.js";
import { h } from "./dom.js";
import { count } from "./format.js";
import { TurnWindow } from "./keyset.js";
import { rowPixels } from "./master_detail.js";
import { oneLine } from "./safe_text.js";
import { virtualList } from "./virtual_list.js";

/**
 * @param {string} session
 * @param {AbortSignal} signal
 * @param {(turn: number) => void} onPick
 */
export function turnList(session, signal, onPick) {
  let turns = 0;
  let chosen = 0;
  /** @type {TurnWindow<Api.TurnRow>} */
  let rows = new TurnWindow("", 0, signal);
  const list = virtualList({ label: "Turns, newest first", rowHeight: rowPixels(2.5), row: (index) => drawRow(turns - index), onRange: fetchRows });
  list.element.classList.add("short");

  /** @param {number} turn */
  function drawRow(turn) {
    const row = rows.rows.get(turn);
    const message = row?.message ?? (row ? "–" : "…");
    return h("div", {}, h("button", { class: "item turn-item", type: "button", "aria-current": turn === chosen ? "true" : null, click: () => onPick(turn) },
      h("span", { class: "small muted number" }, count(turn)),
      h("span", { class: "top" }, oneLine(message, 120)),
      h("span", { class: "small muted number" }, row ? count(promptTokens(row)) : "")));
  }

  /** @param {number} first @param {number} last */
  async function fetchRows(first, last) {
    const window = rows;
    try {
      if ((await window.reach(Math.max(1, turns - last), turns - first)) && window === rows) list.refresh();
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  return {
    element: list.element,
    /** @param {number} next @param {number} turn */
    update(next, turn) {
      if (next !== turns) {
        turns = next;
        rows = new TurnWindow(pathOf("sessions", session, "turns"), turns, signal);
        list.setCount(turns);
      }
      if (turn === chosen) return;
      chosen = turn;
      list.show(turns - turn);
      list.refresh();
    },
  };
}

/** What the turn's largest prompt had; nothing if no prompt is known. @param {Api.SeriesRow} row */
export function promptTokens(row) {
  if (row.tokens_total !== null) return row.tokens_total;
  return row.requests.length > 0 ? Math.max(...row.requests.map((account) => account.tokens_sent)) : null;
}
