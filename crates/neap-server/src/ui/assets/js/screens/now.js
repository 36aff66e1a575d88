// The screen Now: what passes through the proxy, as it passes.

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { emptyBox } from "../empty.js";
import { clock, count, duration, percent, words } from "../format.js";
import { gather, onLive } from "../live.js";
import { rowPixels } from "../master_detail.js";
import { partsBar } from "../parts_bar.js";
import { placeHash } from "../router.js";
import { oneLine } from "../safe_text.js";
import { figure, screenHead } from "../screen_head.js";
import { virtualList } from "../virtual_list.js";

const KEPT_MAX = 2_000;
const STATE_WAIT_MS = 400;

/** @type {import("../screens.js").Show} */
export async function show(host, { signal }) {
  /** Newest first. @type {Api.LoggedRequest[]} */
  let requests = [];
  let waiting = 0;
  const figures = h("dl", { class: "figures" });
  const warnings = h("div", { class: "stack-tight" });
  const list = virtualList({ label: "Requests, newest first", rowHeight: rowPixels(4.25), row: (index) => drawRow(requests[index]) });
  const body = h("div", { class: "stack loose" }, warnings, h("div", { class: "card" }, figures), h("div", { class: "card flush" }, list.element));
  fill(host, screenHead("now"), body);

  /** @param {Api.LoggedRequest | undefined} request */
  function drawRow(request) {
    if (!request) return h("div", {});
    const { used } = request;
    const saved = Math.max(0, request.tokens_in - request.tokens_sent);
    const bar = partsBar([
      { name: "from the cache", value: used ? Math.min(used.cached, request.tokens_sent) : 0, kind: "good", note: count(used?.cached ?? 0) },
      { name: "sent anew", value: used ? Math.max(0, request.tokens_sent - used.cached) : request.tokens_sent, kind: "info", note: count(used ? Math.max(0, used.input - used.cached) : request.tokens_sent) },
    ], Math.max(request.tokens_in, request.tokens_sent));
    const name = request.session === null ? "not of a session" : oneLine(request.session, 60);
    const inside = [
      h("span", { class: "small muted number clock" }, clock(new Date(request.at))),
      h("span", { class: "clip" },
        h("span", { class: "row apart nowrap" }, h("span", { class: "clip" }, name, " ", h("span", { class: "small muted" }, words(request.class)), !request.is_whole && h("span", { class: "tag bad" }, "cut off")),
          h("span", { class: "small muted number" }, `${count(request.tokens_sent)} of ${count(request.tokens_in)}${saved > 0 ? `, −${percent(saved, request.tokens_in)}` : ""}`)),
        h("span", { class: "lane-gap" }, bar)),
      h("span", { class: "small muted number took" }, duration(request.took_ms)),
    ];
    return h("div", {}, request.session === null ? h("div", { class: "item" }, inside) : h("a", { class: "item", href: placeHash("context", request.session) }, inside));
  }

  function draw() {
    if (requests.length === 0) return;
    const sum = (/** @type {(request: Api.LoggedRequest) => number} */ of) => requests.reduce((all, request) => all + of(request), 0);
    const input = sum(({ used }) => used?.input ?? 0);
    fill(figures,
      figure("Requests", count(requests.length), waiting > 0 ? `${count(waiting)} waiting` : undefined, true),
      figure("Received", count(sum((request) => request.tokens_in)), "tokens"),
      figure("Forwarded", count(sum((request) => request.tokens_sent)), "tokens"),
      figure("From the cache", percent(sum(({ used }) => used?.cached ?? 0), input)),
      figure("Answered", count(sum(({ used }) => used?.output ?? 0)), "tokens"));
    list.setCount(requests.length);
  }

  async function load() {
    /** @type {[Api.RequestPage, Api.Jobs]} */
    const [page, jobs] = await Promise.all([get("/requests", {}, signal), get("/jobs", {}, signal)]);
    waiting = page.waiting;
    requests = page.requests.reverse();
    fill(warnings, troubles(jobs));
    if (requests.length === 0) {
      fill(body, warnings, jobs.proxy
        ? emptyBox("Nothing has passed yet", "Point a client at the proxy, or start an agent through it. Each request appears here as it completes.", ["neap run -- claude"])
        : emptyBox("No proxy runs here", "`neap ui` shows the local store alone. `neap serve` runs the proxy with this page.", ["neap serve"]));
    } else {
      fill(body, warnings, h("div", { class: "card" }, figures), h("div", { class: "card flush" }, list.element));
      draw();
    }
  }

  const refreshState = gather(async () => {
    const page = await get("/requests", { after: requests[0]?.number ?? 0 }, signal);
    waiting = page.waiting;
    draw();
  }, STATE_WAIT_MS, signal);
  onLive(({ kind, data }) => {
    if (kind !== "request" || requests.some((request) => request.number === data.number)) return;
    if (requests.length === 0) {
      load();
      return;
    }
    requests = [data, ...requests].slice(0, KEPT_MAX);
    draw();
    refreshState();
  }, signal);
  await load();
}

/** @param {Api.Jobs} jobs */
function troubles({ recording, embedding }) {
  const list = [];
  if (recording.failing !== null) list.push(`Recording fails: ${recording.failing}`);
  if (recording.dropped > 0) list.push(`${count(recording.dropped)} requests could not be recorded.`);
  if (embedding.fault !== null) list.push(`Search works by words alone: ${embedding.fault}`);
  return list.map((text) => h("p", { class: "notice bad", role: "alert" }, oneLine(text, 400)));
}
