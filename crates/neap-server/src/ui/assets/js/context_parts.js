// The figures of a prompt, and what it left out.

import { h } from "./dom.js";
import { count, counted, dollars, percent, words } from "./format.js";
import { placeHash } from "./router.js";
import { oneLine } from "./safe_text.js";
import { figure, tableHolder } from "./screen_head.js";

const NAMED_MAX = 12;

/**
 * @param {Api.Prompt} prompt
 * @param {Api.Turn} turn
 * @param {{ used: number, cached: number, account: Api.Account | undefined }} sizes
 */
export function contextFigures(prompt, turn, { used, cached, account }) {
  const { ledger } = turn;
  const of = account ? `of ${count(account.tokens_in)} tokens received` : prompt.budget === null ? "tokens" : `of ${count(prompt.budget)} tokens`;
  /** @type {(HTMLElement | null)[]} */
  const parts = [figure(account ? "Forwarded" : "In the context", count(used), of, true)];
  if (used > 0 && (ledger || account?.used)) parts.push(figure("From the cache", percent(cached, used)));
  if (account) parts.push(...accountFigures(account, prompt.requests?.length ?? 1));
  if (ledger) parts.push(figure("Sending everything", count(ledger.naive_tokens), "tokens"));
  if (ledger?.cost?.calls) parts.push(figure("Cost of the turn", dollars(ledger.cost.nanodollars / 1e9), `in ${counted(ledger.cost.calls, "call")}`));
  if (ledger?.epoch_since) parts.push(figure("Rewritten for", `turn ${ledger.epoch_since}`, turn.epoch_cause ? `because ${causeText(turn.epoch_cause)}` : undefined));
  const note = prompt.kind === "recorded" ? "Another program built this prompt; only its messages are known." : prompt.note;
  return [h("dl", { class: "figures" }, parts), note ? h("p", { class: "notice small" }, oneLine(note, 400)) : null];
}

/** @param {Api.Account} account the turn's last request @param {number} requests */
function accountFigures(account, requests) {
  const { cost } = account;
  return [
    figure("Requests of the turn", count(requests), `last: ${words(account.class)}`),
    cost ? figure("Cost of the last", dollars(cost.sent_nanodollars / 1e9), `untouched: ${dollars(cost.untouched_nanodollars / 1e9)}`) : null,
    account.used ? figure("Answered", count(account.used.output), "tokens") : null,
  ];
}

const CAUSES = new Map([
  ["first", "it is the first"],
  ["full", "there was no more room"],
  ["expired", "the cache had expired"],
  ["cheaper", "a shorter one is cheaper"],
  ["turns_over", "it had grown for many turns"],
]);

/** @param {string} cause */
export function causeText(cause) {
  return CAUSES.get(cause) ?? words(cause);
}

/**
 * What is stored but not in the prompt, and why.
 * @param {string} session
 * @param {Api.Turn} turn
 */
export function leftOut(session, turn) {
  const { ledger } = turn;
  if (!ledger) return null;
  const rows = [];
  const effort = (/** @type {string} */ id) => h("a", { href: placeHash("efforts", session, { effort: id }) }, oneLine(id, 60));
  if (ledger.evicted) rows.push(["Evicted efforts", ledger.evicted, "nothing referred to them for long; search finds them", []]);
  const over = ledger.summaries_over_budget ?? [];
  if (over.length > 0) rows.push(["Summaries", ledger.summaries_over_budget_count ?? over.length, "no room in the share of summaries", over.slice(0, NAMED_MAX)]);
  for (const log of ledger.logs ?? []) {
    const of = log.scope === "ambient" ? "ambient chat" : log.scope.effort;
    if (log.left_out) rows.push([`Exchanges of ${oneLine(of, 60)}`, log.left_out, "older than its share of the budget", log.scope === "ambient" ? [] : [of]]);
    if (log.excerpted) rows.push([`A message of ${oneLine(of, 60)}`, 1, "cut to its head and tail", []]);
  }
  if (ledger.rounds_left_out) rows.push(["Tool rounds of this turn", ledger.rounds_left_out, "no room for all of them", []]);
  const table = tableHolder("What was left out, and why", h("table", { class: "plain-table" },
    h("thead", {}, h("tr", {}, h("th", {}, "What"), h("th", { class: "number" }, "How many"), h("th", {}, "Why"))),
    h("tbody", {}, rows.map(([what, number, why, ids]) => h("tr", {},
      h("td", {}, String(what)),
      h("td", { class: "number" }, count(Number(number))),
      h("td", {}, String(why), /** @type {string[]} */ (ids).flatMap((id) => [" ", effort(id)])))))));
  const text = "Nothing: all that is stored is in this prompt, in full or in short.";
  return h("section", { class: "card stack", "aria-label": "Left out" }, h("h2", {}, "Left out"), rows.length > 0 ? table : h("p", { class: "muted" }, text));
}
