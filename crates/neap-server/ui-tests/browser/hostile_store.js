// A session of the real program, and memories, in which every text tries to be more than text.

import { ALL, BIDI, LONG_LINE, NAME, SCRIPT, TERMINAL } from "../mock/hostile.js";

export const SESSION = "hostile";
export const PATH = "/srv/<b>pier</b>/\u202Egnp.exe";
/** Of the first three turns, and of those that the API takes, in which a person pastes a line of 1 MB and a tool answers with one. */
export const EFFORTS = { ended: `${NAME} ${BIDI}`, open: `${NAME} of ${TERMINAL}` };
export const LONG_TURN = 4;
export const TOOL_TURN = 5;

/** Turns that another program replays. */
export const TURNS = [
  { user: `${ALL} in ${PATH}`, calls: [{ name: "open_effort", arguments: { name: EFFORTS.ended } }], assistant: ALL },
  { user: `Port 8443 of ${PATH} and https://pier.invalid/<img/src=x>?a=1\u200B2`, calls: [{ name: SCRIPT, arguments: { [TERMINAL]: ALL } }], assistant: `${SCRIPT} on port 8444` },
  { user: "That is settled, thanks.", calls: [{ name: "close_effort" }], assistant: BIDI },
].map((turn) => JSON.stringify(turn)).join("\n");

const ROUND = [
  { role: "user", content: BIDI },
  { role: "assistant", content: ALL, tool_calls: [{ id: "c1", name: SCRIPT, arguments: JSON.stringify({ [BIDI]: ALL }) }] },
  { role: "tool", content: `${ALL}\n${LONG_LINE}`, tool_call_id: "c1", name: NAME },
];

const BODIES = [
  { kind: "decision", description: ALL, context: BIDI, category: "tooling", alternatives: [SCRIPT], reasons: [{ kind: "analysis", text: TERMINAL }] },
  { kind: "procedure", name: NAME, core_patterns: [SCRIPT], steps: [ALL, BIDI] },
  { kind: "episode", summary: ALL, outcome: "success", lessons: [SCRIPT, TERMINAL] },
  { kind: "censor", pattern: { by: "words", of: "onerror document title owned" }, action: "steer", reason: ALL },
  { kind: "fact", subject: SCRIPT, content: ALL },
];

/** What only the API takes. @param {import("./neap.js").Server["call"]} call */
export async function addHostile(call) {
  await call("POST", `/sessions/${SESSION}/efforts`, { name: EFFORTS.open });
  await call("PUT", `/sessions/${SESSION}/turns/long`, { message: LONG_LINE, reply: TERMINAL });
  await call("POST", `/sessions/${SESSION}/messages`, { messages: ROUND }, { "idempotency-key": "round" });
  for (const body of BODIES) await call("POST", "/memories", { body, tags: [SCRIPT, BIDI], domain: BIDI });
}
