// The routes of the mock server; each answers a form of the API.

import { LONG_LINE, poisonBlocks, ALL, NAME } from "./hostile.js";
import { blocks, diff, prompt, turnDetail } from "./prompt.js";
import { at, changesOf, cost, effortRows, seriesRow, turnRow, words } from "./session.js";
import { receipts } from "./receipts.js";

/** @typedef {{ status: number, body?: any, lines?: string }} Answer */

/** @param {number} status @param {string} detail @param {string} [hint] @returns {Answer} */
const problem = (status, detail, hint) => ({ status, body: { type: "about:blank", title: "Refused", status, detail, hint } });
/** @param {any} body @returns {Answer} */
const ok = (body) => ({ status: 200, body });

/** @template T @param {T[]} items @param {URLSearchParams} query @returns {Answer} */
function page(items, query, max = 200) {
  const start = Number(query.get("cursor") ?? 0);
  const limit = Math.min(max, Number(query.get("limit") ?? 50));
  const end = start + limit;
  return ok({ items: items.slice(start, end), next: end < items.length ? String(end) : null });
}

/** @template T @param {number} turns @param {URLSearchParams} query @param {(turn: number) => T} row @param {number} max @returns {Answer} */
function turnPage(turns, query, row, max) {
  const before = Number(query.get("cursor") ?? query.get("before") ?? turns + 1);
  const limit = Math.min(max, Number(query.get("limit") ?? 50));
  const items = [];
  let turn = Math.min(turns, before - 1);
  for (; turn >= 1 && items.length < limit; turn -= 1) items.push(row(turn));
  return ok({ items, next: turn >= 1 ? String(turn + 1) : null });
}

/** @param {import("./world.js").World} world @param {string} method @param {URL} url @param {any} body @returns {Answer} */
export function answer(world, method, url, body) {
  const parts = url.pathname.slice("/api/v1/".length).split("/").map(decodeURIComponent);
  const query = url.searchParams;
  switch (parts[0]) {
    case "sessions":
      return parts.length === 1 ? page(sessionRows(world, query), query) : session(world, method, parts.slice(1), query, body);
    case "memories":
      return memories(world, method, parts.slice(1), query, body);
    case "requests":
      return ok({ waiting: world.data === "empty" ? 0 : 1, requests: world.requests.filter((entry) => entry.number > Number(query.get("after") ?? 0)) });
    case "report":
      return ok(report(world));
    case "jobs":
      return ok({ recording: { failing: null, waiting: 0, dropped: 0 }, embedding: { model: null, fault: null }, proxy: true, agent: "default" });
    case "search":
      if (parts[1] === "expect") return ok({ expected: body.expect, outcome: { stage: "beyond_limit", place: 41, score: 1.5, shared: ["staging"], similarity: 0.41 } });
      return ok({ items: hits(world, body), next: null, note: null });
    default:
      return problem(404, "there is no such route");
  }
}

/** @param {import("./world.js").World} world @param {string} name @returns {Api.SessionRow} */
function sessionRow(world, name) {
  const { turns, scrubbed } = /** @type {{ turns: number, scrubbed: boolean }} */ (world.sessions.get(name));
  const each = cost(Math.min(turns, 100));
  const total = { calls: turns, sent: each.sent * turns, cached: each.cached * turns, output: 90 * turns, nanodollars: each.nanodollars * turns };
  return { session: name, created: at(1), updated: at(turns), turns, efforts: Math.ceil(turns / 12), events: turns * 5, scrubbed, cost: total };
}

/** @param {import("./world.js").World} world @param {URLSearchParams} query */
function sessionRows(world, query) {
  return [...world.sessions.keys()].filter((name) => name.includes(query.get("q") ?? "")).map((name) => sessionRow(world, name)).filter((row) => !row.scrubbed);
}

/** @param {import("./world.js").World} world */
function report(world) {
  const rows = sessionRows(world, new URLSearchParams());
  const sum = { calls: 0, sent: 0, cached: 0, output: 0, nanodollars: 0 };
  for (const { cost: each } of rows) for (const name of /** @type {(keyof Api.Cost)[]} */ (Object.keys(sum))) sum[name] += each?.[name] ?? 0;
  const empty = { requests: 0, changed: 0, broken_off: 0, tokens_in: 0, tokens_sent: 0, used: { input: 0, cached: 0, output: 0 } };
  return { sessions: rows.length, turns: rows.reduce((all, row) => all + row.turns, 0), cost: sum, price_dollars: sum.nanodollars / 1e9, passed: empty, saved_dollars: null, ...totals(rows, sum) };
}

/** By model and by project. @param {Api.SessionRow[]} rows @param {Api.Cost} sum */
function totals(rows, sum) {
  if (sum.calls === 0) return { models: [], projects: [] };
  const { calls, sent, cached, output } = sum;
  const known = { sent, cached, output, dollars: sum.nanodollars / 1e9, untouched_dollars: sum.nanodollars / 4e8 };
  const local = { model: "qwen2.5-coder-1.5b", calls: 12, sent: 90_000, cached: 81_000, output: 2_400, dollars: null, untouched_dollars: null };
  const project = (/** @type {string | null} */ name, /** @type {number} */ part) => ({
    project: name, sessions: rows.length, turns: 200, sent: sent * part, cached: cached * part, output: output * part,
    dollars: known.dollars * part, untouched_dollars: known.untouched_dollars * part,
  });
  return { models: [{ model: "claude-sonnet-4-5", calls, ...known }, local], projects: [project("github.com/acme/shop", 0.75), project(null, 0.25)] };
}

/** @param {import("./world.js").World} world @param {string} method @param {string[]} parts @param {URLSearchParams} query @param {any} body @returns {Answer} */
function session(world, method, [name = "", what, id, action], query, body) {
  const found = world.sessions.get(name);
  if (!found) return problem(404, `there is no session '${name}'`, "`neap session list` lists all sessions");
  const { turns } = found;
  const turn = id === "latest" ? turns : Number(id);
  if (method === "DELETE") {
    if (query.get("confirm") !== name) return problem(422, "confirm names another session");
    world.sessions.delete(name);
    world.tell("session", { session: name, turn: null, seq: 1, at: Date.now(), kind: "scrubbed" });
    return ok({ session: name, events: turns * 5, erased: true });
  }
  switch (what) {
    case undefined:
      return ok({ session: name, created: at(1), updated: at(turns), encoding: "o200k_base", turns, active: "x", policy: { context_budget: 8000, price_cache_read_cents: 30, price_cache_write_cents: 375, price_output_cents: 1500 }, report: { turns } });
    case "erasure":
      return ok({ session: name, turns, efforts: Math.ceil(turns / 12), erased: false });
    case "export":
      return { status: 200, lines: `{"seq":1}\n` };
    case "report":
      return ok({ turns });
    case "series":
      if (query.get("points")) {
        const points = Math.min(turns, 200, Number(query.get("points")));
        return ok({ items: Array.from({ length: points }, (_, index) => seriesRow(turns - Math.floor((index * turns) / points))), next: null });
      }
      return turnPage(turns, query, seriesRow, 200);
    case "changes": {
      const list = [];
      const before = Number(query.get("cursor") ?? query.get("before") ?? turns + 1);
      const limit = Math.min(200, Number(query.get("limit") ?? 50));
      let of = Math.min(turns, before - 1);
      for (; of >= 1 && list.length < limit; of -= 1) list.push(...changesOf(of).reverse());
      return ok({ items: list, next: of >= 1 ? String(of + 1) : null });
    }
    case "efforts":
      return effortRoute(world, name, turns, id, action, query);
    case "receipts":
      return page(receipts(turns), query);
    case "originals":
      return original(world, String(id), query);
    case "turns":
      if (id === undefined) return turnPage(turns, query, world.isHostile ? poisonRow : turnRow, 200);
      if (!(turn >= 1 && turn <= turns)) return problem(404, `session '${name}' has no turn ${id}`);
      return turnRoute(world, turn, action, query);
    default:
      return problem(404, "there is no such route");
  }
}

/** @param {number} turn */
function poisonRow(turn) {
  return { ...turnRow(turn), message: ALL.slice(0, 200), scope: { effort: NAME } };
}

/** @param {import("./world.js").World} world @param {number} turn @param {string | undefined} action @param {URLSearchParams} query */
function turnRoute(world, turn, action, query) {
  const poison = (/** @type {Api.Block[]} */ list) => (world.isHostile ? poisonBlocks(list) : list);
  if (action === "prompt") {
    const whole = prompt(turn);
    const block = query.get("block");
    if (block !== null && query.get("offset") !== null) {
      const one = /** @type {Api.Block} */ (poison(blocks(turn))[Number(block)]);
      const offset = Number(query.get("offset"));
      return ok({ ...whole, blocks: [{ ...one, text: LONG_LINE.slice(offset, offset + 20_000), offset }], next: null });
    }
    return ok({ ...whole, blocks: poison(whole.blocks) });
  }
  if (action === "diff") return ok(diff(Number(query.get("with") ?? turn - 1), turn));
  const detail = turnDetail(turn);
  return ok(world.isHostile ? { ...detail, message: ALL, reply: ALL } : detail);
}

/** @param {import("./world.js").World} world @param {string} name @param {number} turns @param {string | undefined} id @param {string | undefined} action @param {URLSearchParams} query */
function effortRoute(world, name, turns, id, action, query) {
  const rows = effortRows(turns);
  const all = rows.map(({ effort }) => {
    const place = world.places.get(effort.id);
    return place ? { ...effort, place, expanded: place === "expanded", status: place === "active" ? "open" : "concluded" } : effort;
  });
  if (world.isHostile) for (const effort of all) Object.assign(effort, { name: NAME, summary: effort.summary && ALL });
  if (id === undefined) return page(all, query);
  const effort = all.find((each) => each.id === id);
  if (!effort) return problem(404, `session '${name}' has no effort '${id}'`);
  if (action === undefined) return ok(effort);
  if (action === "log") {
    const list = [];
    const { opened } = /** @type {{ turns: { opened: number } }} */ (rows.find((row) => row.effort.id === id)).turns;
    for (let of = Math.min(turns, opened + 9); of >= opened; of -= 1) {
      const said = words(of);
      list.push({ turn: of, at: at(of), messages: [{ role: "user", content: world.isHostile ? ALL : said.ask, tokens: 20 }, { role: "assistant", content: said.reply, tokens: 30 }] });
    }
    return page(list, query);
  }
  const places = new Map([["expand", "expanded"], ["collapse", "shown"], ["conclude", "shown"], ["reopen", "active"]]);
  const place = places.get(action);
  if (!place) return problem(404, "there is no such route");
  if (world.refusal !== "") return problem(422, world.refusal);
  if (action === "collapse" && effort.place !== "expanded") return problem(422, `'${id}' is not expanded`);
  world.places.set(id, place);
  world.tell("effort", { session: name, turn: turns, seq: 1, at: Date.now(), kind: `effort_${place}`, ids: [id] });
  return ok({ text: "{}", banner: `--- ${place}: ${id} ---`, refusal: null });
}

/** @param {import("./world.js").World} world @param {string} handle @param {URLSearchParams} query */
function original(world, handle, query) {
  const text = world.isHostile ? `${ALL}\n${LONG_LINE}` : `user: ${words(Number(/\d+/u.exec(handle)?.[0] ?? 1)).ask}\nassistant: ${words(Number(/\d+/u.exec(handle)?.[0] ?? 1)).reply}\n`;
  const offset = Number(query.get("offset") ?? 0);
  const end = offset + Number(query.get("limit") ?? 20_000);
  return ok({ handle, chars: text.length, offset, text: text.slice(offset, end), next: end < text.length ? end : null, messages: [] });
}

/** @param {import("./world.js").World} world @param {string} method @param {string[]} parts @param {URLSearchParams} query @param {any} body @returns {Answer} */
function memories(world, method, [id, action], query, body) {
  const store = world.memories;
  if (id === undefined) return page(store.list(query), query);
  if (id === "context") return ok({ frame: "task", frame_because: "the words of a task", text: "- f7 …", tokens_total: 210, budget: 1600, candidates: store.candidates(String(body.question)), build_ms: 1.3 });
  const found = store.current.get(id);
  if (!found) return problem(404, `there is no memory ${id}`);
  const changed = () => world.tell("memory", { session: null, turn: null, seq: store.seq, at: Date.now(), kind: "memory_changed", ids: [id] });
  if (method === "PATCH") {
    changed();
    return ok(store.edit(id, body));
  }
  if (method === "DELETE") return query.get("confirm") === id ? ok(store.erase(id)) : problem(422, "confirm names another memory");
  if (action === "history") return page(store.versions.get(id) ?? [], query);
  if (action === "chain") return ok({ items: store.chain(id), next: null });
  if (action === "erasure") return ok(store.erasure(id));
  if (action === undefined) return ok(found);
  if (action === "undo") {
    const undone = store.undo(id);
    return undone ? ok(undone) : problem(422, `nothing of ${id} can be undone`);
  }
  const statuses = new Map([["confirm", "confirmed"], ["core", "core"], ["wrong", "inactive"], ["retire", "retired"]]);
  const status = statuses.get(action);
  if (!status) return problem(404, "there is no such route");
  changed();
  return ok(store.write(id, status, (next) => (next.status = status)));
}

/** @param {import("./world.js").World} world @param {any} body @returns {Api.Hit[]} */
function hits(world, body) {
  if (world.data === "empty") return [];
  const name = String([...world.sessions.keys()][0]);
  return [3, 14, 27, 39].map((turn, index) => ({
    session: name, effort: "refresh-token", turn, kind: index % 2 ? "assistant" : "user", who: "Tim", at: at(turn), text: world.isHostile ? ALL : `${words(turn).ask} … ${body.query}`, score: 5 - index,
    why: { words: 3.1 - index * 0.6, meaning: 1.2 - index * 0.2, beside: 0.2, conversation: 0, speaker: 0, time: 0.1, opening: 0.2, lately: 0.3, here: 0, file: 0, decision: 0, cost: 0.1 },
  }));
}
