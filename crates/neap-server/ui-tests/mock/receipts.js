// Receipts of the summaries of a session.

import { at, effortRows } from "./session.js";

/** @param {number} turns @returns {Api.SummaryAccount[]} */
export function receipts(turns) {
  const list = [];
  for (const { effort, turns: { opened, concluded } } of effortRows(turns)) {
    if (effort.status === "open") continue;
    const number = opened % 5;
    const handle = `t${opened}-${concluded}@${effort.id}`;
    list.push({
      turn: concluded, at: at(concluded), of: effort.id, kind: "conclusion", source_tokens: effort.raw_tokens, summary_tokens: 74,
      receipt: {
        kinds: { identifier: { found: 11, retained: 9, recoverable: 2, missing: 0 }, number: { found: 9 + number, retained: 7, recoverable: 2 + number, missing: 0 }, date: { found: 2, retained: 2, recoverable: 0, missing: 0 }, negation: { found: 3, retained: 2, recoverable: 0, missing: 1 } },
        recoverable: [{ kind: "number", value: "40 ms" }, { kind: "number", value: "2,918,554" }, { kind: "identifier", value: "REFRESH_TTL_SECONDS" }],
        missing: [{ kind: "negation", value: "not the cause" }],
        changed: number === 3 ? [{ kind: "number", from: "8443", to: "8444" }] : [],
        repaired: number === 1 ? [{ kind: "number", from: "3,600", to: "3,660" }] : [],
        handle,
      },
    });
    list.push({ turn: concluded - 4, at: at(concluded - 4), of: `t${opened}-${opened + 3}@${effort.id}`, kind: "compaction", source_tokens: 1_420, summary_tokens: 131, receipt: { kinds: { number: { found: 5, retained: 5, recoverable: 0, missing: 0 } }, handle: `t${opened}-${opened + 3}@${effort.id}` } });
  }
  return list;
}
