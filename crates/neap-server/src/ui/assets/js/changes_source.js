// Fetches what changed prompts within a range of turns.

import { get, pathOf } from "./api.js";

/** The most that the server gives at once. */
const PAGE = 200;
/** Turns of a session that are shown one by one. */
const WHOLE_TURNS = 1_000;
const PAGES_MAX = 20;

/**
 * Changes of the turns `from` to `to`, oldest first.
 * @param {string} session
 * @param {number} from
 * @param {number} to
 * @param {AbortSignal} signal
 * @returns {Promise<Api.Change[]>}
 */
export function fetchChanges(session, from, to, signal) {
  return collect(pathOf("sessions", session, "changes"), from, to, signal);
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
  const path = pathOf("sessions", session, "series");
  /** @type {Promise<Api.SeriesRow[]>[]} */
  const parts = [];
  for (let first = from; first <= to; first += PAGE) {
    parts.push(collect(path, first, Math.min(to, first + PAGE - 1), signal));
  }
  return (await Promise.all(parts)).flat();
}

/**
 * A session's turns, or some of them, evenly spaced; oldest first.
 * @param {string} session
 * @param {number} turns
 * @param {AbortSignal} signal
 * @returns {Promise<Api.SeriesRow[]>}
 */
export async function fetchOverview(session, turns, signal) {
  if (turns <= WHOLE_TURNS) return fetchSeries(session, 1, turns, signal);
  /** @type {Api.Page<Api.SeriesRow>} */
  const page = await get(pathOf("sessions", session, "series"), { points: PAGE }, signal);
  return page.items.reverse();
}

/**
 * @template {{ turn: number | null }} T
 * @param {string} path
 * @param {number} from
 * @param {number} to
 * @param {AbortSignal} signal
 * @returns {Promise<T[]>}
 */
async function collect(path, from, to, signal) {
  /** @type {T[]} */
  const newestFirst = [];
  /** @type {string | null} */
  let cursor = null;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    /** @type {Api.Page<T>} */
    const answer = await get(path, { before: to + 1, limit: PAGE, cursor }, signal);
    newestFirst.push(...answer.items.filter(({ turn }) => turn !== null && turn >= from && turn <= to));
    cursor = answer.next;
    if (cursor === null || answer.items.some(({ turn }) => turn !== null && turn < from)) break;
  }
  return newestFirst.reverse();
}
