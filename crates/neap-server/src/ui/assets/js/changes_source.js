// Fetches what changed prompts within a range of turns.

import { ApiError, get, pathOf } from "./api.js";

const PAGE = 1_000;
const ROWS = 200;
const PAGES_MAX = 10;

/**
 * Changes of the turns `from` to `to`, oldest first.
 * @param {string} session
 * @param {number} from
 * @param {number} to
 * @param {AbortSignal} signal
 * @returns {Promise<Api.Change[]>}
 */
export async function fetchChanges(session, from, to, signal) {
  const path = pathOf("sessions", session, "changes");
  return collect(path, from, to, PAGE, (item) => [/** @type {Api.Change} */ (item)], signal);
}

/**
 * The series of the turns `from` to `to`, oldest first.
 * @param {string} session
 * @param {number} from
 * @param {number} to
 * @param {AbortSignal} signal
 * @returns {Promise<Api.SeriesRow[]>}
 */
export async function fetchSeries(session, from, to, signal) {
  return collect(pathOf("sessions", session, "series"), from, to, PAGE, (item) => [/** @type {Api.SeriesRow} */ (item)], signal);
}

/**
 * Some turns of the whole session, evenly spaced, oldest first.
 * @param {string} session
 * @param {number} turns
 * @param {AbortSignal} signal
 * @returns {Promise<Api.SeriesRow[]>}
 */
export async function fetchOverview(session, turns, signal) {
  if (turns <= PAGE) return fetchSeries(session, 1, turns, signal);
  try {
    /** @type {Api.Page<Api.SeriesRow>} */
    const page = await get(pathOf("sessions", session, "series"), { points: 500 }, signal);
    return page.items.reverse();
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400) throw error;
    return fetchSeries(session, turns - PAGE + 1, turns, signal);
  }
}

/**
 * @template T
 * @param {string} path
 * @param {number} from
 * @param {number} to
 * @param {number} limit
 * @param {(item: any) => T[]} read
 * @param {AbortSignal} signal
 */
async function collect(path, from, to, limit, read, signal) {
  /** @type {T[]} */
  const newestFirst = [];
  /** @type {string | null} */
  let cursor = null;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    /** @type {Api.Page<any>} */
    const answer = await get(path, { before: to + 1, limit: Math.min(limit, Math.max(ROWS, to - from + 1)), cursor }, signal);
    const items = answer.items.filter((item) => item.turn !== null && item.turn >= from);
    newestFirst.push(...items.flatMap(read));
    cursor = answer.next;
    if (cursor === null || answer.items.some((item) => item.turn < from)) break;
  }
  return newestFirst.reverse();
}
