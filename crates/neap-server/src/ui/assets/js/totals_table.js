// Totals of all sessions, by model and by project.

import { h } from "./dom.js";
import { count, dollars, percent } from "./format.js";
import { oneLine } from "./safe_text.js";

/** None if no model's name is known. @param {Api.ModelTotals[]} models */
export function modelTable(models) {
  return models.length === 0 ? null : table("Model", "Calls", models.map((each) => ({ name: each.model, times: each.calls, ...each })));
}

/** None if all sessions belong to no project. @param {Api.ProjectTotals[]} projects */
export function projectTable(projects) {
  const rows = projects.map((each) => ({ name: each.project ?? "none", times: each.sessions, ...each }));
  return projects.every((each) => each.project === null) ? null : table("Project", "Sessions", rows);
}

/**
 * @param {string} what
 * @param {string} times
 * @param {{ name: string, times: number, sent: number, cached: number, dollars: number | null, untouched_dollars: number | null }[]} rows
 */
function table(what, times, rows) {
  const cells = (/** @type {typeof rows[number]} */ row) => {
    const saved = row.dollars === null || row.untouched_dollars === null ? null : row.untouched_dollars - row.dollars;
    return [count(row.times), count(row.sent), percent(row.cached, row.sent), dollars(row.dollars), dollars(saved)];
  };
  return h("table", { class: "plain-table" },
    h("thead", {}, h("tr", {}, h("th", {}, what), [times, "Tokens sent", "Cached", "Spent", "Saved by the proxy"].map((name) => h("th", { class: "number" }, name)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, h("td", {}, oneLine(row.name, 60)), cells(row).map((cell) => h("td", { class: "number" }, cell))))));
}
