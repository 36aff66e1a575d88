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

/** @param {Api.Prompt} prompt @returns {Record<string, number>} */
export function layersOf(prompt) {
  if (prompt.layers.length > 0) return Object.fromEntries(prompt.layers.map(({ layer, tokens }) => [layer, tokens]));
  /** @type {Record<string, number>} */
  const sums = {};
  for (const { layer, tokens } of prompt.blocks) sums[layer] = (sums[layer] ?? 0) + tokens;
  return sums;
}

/** @param {Record<string, number>} layers */
export function sumOf(layers) {
  return Object.values(layers).reduce((sum, tokens) => sum + tokens, 0);
}

/**
 * The blocks, so that those of each layer add up to what it had when it was sent.
 * @param {Api.Prompt} prompt
 * @param {Record<string, number>} layers
 * @returns {Api.Block[]}
 */
export function scaledBlocks(prompt, layers) {
  /** @type {Record<string, number>} */
  const sums = {};
  for (const { layer, tokens } of prompt.blocks) sums[layer] = (sums[layer] ?? 0) + tokens;
  return prompt.blocks.map((block) => {
    const sum = sums[block.layer] ?? 0;
    return sum > 0 ? { ...block, tokens: (block.tokens * (layers[block.layer] ?? 0)) / sum } : block;
  });
}
