// Fetches a prompt whole: the server gives it in pieces of at most 200 kB.

import { get, pathOf } from "./api.js";

/** A prompt of a million tokens has about twenty pieces. */
const PIECES_MAX = 40;
const TEXT_STEP = 20_000;

/**
 * @param {string} session
 * @param {number | "latest"} turn
 * @param {AbortSignal} [signal]
 * @returns {Promise<Api.Prompt>}
 */
export async function fetchPrompt(session, turn, signal) {
  /** @type {Api.Prompt} */
  const prompt = await get(pathOf("sessions", session, "turns", turn, "prompt"), {}, signal);
  let { next } = prompt;
  for (let piece = 1; next !== null && piece < PIECES_MAX; piece += 1) {
    /** @type {Api.Prompt} */
    const more = await get(pathOf("sessions", session, "turns", prompt.turn, "prompt"), { block: next }, signal);
    prompt.blocks.push(...more.blocks);
    next = more.next;
  }
  return prompt;
}

/**
 * @param {string} session
 * @param {number | "latest"} turn
 * @param {AbortSignal} [signal]
 * @returns {Promise<Api.Turn>}
 */
export function fetchTurn(session, turn, signal) {
  return get(pathOf("sessions", session, "turns", turn), {}, signal);
}

/**
 * The next part of a block's text.
 * @param {string} session
 * @param {number} turn
 * @param {number} block
 * @param {number} offset
 * @returns {Promise<string>}
 */
export async function fetchBlockText(session, turn, block, offset) {
  /** @type {Api.Prompt} */
  const part = await get(pathOf("sessions", session, "turns", turn, "prompt"), { block, offset, limit: TEXT_STEP });
  return part.blocks[0]?.text ?? "";
}

/**
 * The next part of a message, exactly as it was said.
 * @param {string} session
 * @param {string} handle
 * @param {number} offset
 * @param {AbortSignal} signal
 * @returns {Promise<string>}
 */
export async function fetchOriginalText(session, handle, offset, signal) {
  /** @type {Api.Original} */
  const part = await get(pathOf("sessions", session, "originals", handle), { offset, limit: TEXT_STEP }, signal);
  return part.text;
}

/**
 * What a prompt is made of: as recorded when it was sent, as its blocks say, or, of a client's request, as forwarded.
 * @param {Api.Prompt} prompt
 * @param {Api.Ledger | null} ledger
 * @returns {{ layers: Record<string, number>, used: number, whole: number, cached: number, account: Api.Account | undefined }}
 */
export function composition(prompt, ledger) {
  const account = prompt.requests?.at(-1);
  if (prompt.kind === "forwarded" && account) {
    const { tokens_sent: used, tokens_in: received } = account;
    const share = account.used && account.used.input > 0 ? account.used.cached / account.used.input : 0;
    return { layers: { forwarded: used }, used, whole: Math.max(used, received), cached: Math.round(used * share), account };
  }
  const layers = ledger?.tokens ?? layersOf(prompt);
  const sum = Object.values(layers).reduce((total, tokens) => total + tokens, 0);
  const used = ledger ? sum : (prompt.tokens_total ?? sum);
  return { layers, used, whole: prompt.budget ?? used, cached: prompt.cached_tokens ?? 0, account: undefined };
}

/** @param {Api.Prompt} prompt */
function layersOf(prompt) {
  if (prompt.layers.length > 0) return Object.fromEntries(prompt.layers.map(({ layer, tokens }) => [layer, tokens]));
  /** @type {Record<string, number>} */
  const sums = {};
  for (const { layer, tokens } of prompt.blocks) sums[layer ?? "forwarded"] = (sums[layer ?? "forwarded"] ?? 0) + tokens;
  return sums;
}

/**
 * The blocks, so that those of each layer add up to what it had when it was sent.
 * @param {Api.Prompt} prompt
 * @param {Record<string, number>} layers
 * @returns {Api.Block[]}
 */
export function scaledBlocks(prompt, layers) {
  // Of a client's request, only the turn's own messages are known.
  if (prompt.kind !== "assembled") return [];
  /** @type {Record<string, number>} */
  const sums = {};
  for (const { layer, tokens } of prompt.blocks) sums[layer ?? ""] = (sums[layer ?? ""] ?? 0) + tokens;
  return prompt.blocks.map((block) => {
    const sum = sums[block.layer ?? ""] ?? 0;
    return sum > 0 ? { ...block, tokens: (block.tokens * (layers[block.layer ?? ""] ?? 0)) / sum } : block;
  });
}
