// What the mock server knows: sessions by their number of turns, memories, requests, and who watches.

import { hostileMemory, NAME } from "./hostile.js";
import { Memories } from "./memories.js";
import { at, cost, total } from "./session.js";

export class World {
  /** @param {"story" | "empty" | "large" | "hostile"} data */
  constructor(data) {
    this.data = data;
    this.isHostile = data === "hostile";
    /** @type {Map<string, { turns: number, scrubbed: boolean }>} */
    this.sessions = new Map();
    if (data === "story") [["auth-service", 200], ["docs-site", 31], ["infra", 84]].forEach(([name, turns]) => this.sessions.set(String(name), { turns: Number(turns), scrubbed: false }));
    if (data === "large") this.sessions.set("marathon", { turns: 100_000, scrubbed: false });
    if (data === "hostile") this.sessions.set(NAME, { turns: 40, scrubbed: false });
    this.memories = new Memories(data === "story" || data === "large" ? "story" : "empty", this.isHostile ? [hostileMemory()] : []);
    /** @type {Api.LoggedRequest[]} */
    this.requests = [];
    if (data !== "empty") for (let number = 1; number <= 24; number += 1) this.requests.push(this.request(number));
    /** @type {Set<import("node:http").ServerResponse>} */
    this.watchers = new Set();
    /** @type {Map<string, string>} */
    this.places = new Map();
    this.sent = 0;
    /** Why the next change of an effort is refused. */
    this.refusal = "";
  }

  /** @param {number} number @returns {Api.LoggedRequest} */
  request(number) {
    const turn = 180 + number;
    const received = 910 + turn * 310;
    const used = { input: total(turn), cached: cost(turn).cached, output: 80 + ((number * 37) % 300) };
    const classes = ["main_turn", "tool_loop", "tool_loop", "tool_loop", "subagent", "title"];
    return {
      number, at: at(turn), asks: "messages", session: [...this.sessions.keys()][0] ?? null, class: String(classes[number % classes.length]), verdict: "turn",
      tokens_in: received, tokens_sent: total(turn), changes: number % 4, left_out: 120 + number, epoch: Math.floor(turn / 17), used,
      is_whole: number !== 13, took_ms: 900 + ((number * 773) % 9_000),
    };
  }

  /** @param {import("node:http").ServerResponse} response */
  watch(response) {
    response.write(`id: ${this.sent}\nevent: open\ndata: {"resumed": false}\n\n`);
    this.watchers.add(response);
    response.on("close", () => this.watchers.delete(response));
  }

  /** @param {string} kind @param {unknown} data */
  tell(kind, data) {
    this.sent += 1;
    for (const watcher of this.watchers) watcher.write(`id: ${this.sent}\nevent: ${kind}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** The agent goes on: one turn and one request. @param {string} name */
  advance(name) {
    const session = /** @type {{ turns: number }} */ (this.sessions.get(name));
    session.turns += 1;
    const turn = session.turns;
    this.tell("turn", { session: name, turn, seq: turn * 10, at: at(turn), kind: "turn_completed" });
    const request = this.request(this.requests.length + 1);
    this.requests.push(request);
    this.tell("request", request);
  }
}
