// What a session cost, and what two other clients would have paid for the same turns.

/**
 * @typedef {object} CostPoint
 * @property {number} turn
 * @property {number | null} cachedShare of what was sent, in percent
 * @property {number} spent dollars so far
 * @property {number | null} untouched dollars so far if the whole history were sent each time
 * @property {number | null} rewriting dollars so far if each prompt were written anew, with nothing in the cache
 */
/** @typedef {{ read: number, write: number, output: number }} Prices in dollars per token */

/** Cents per million tokens in dollars per token. */
const CENT = 1e-8;

/**
 * The prices of a session's policy, if it has them.
 * @param {Record<string, unknown>} policy
 * @returns {Prices | null}
 */
export function pricesOf(policy) {
  const [read, write, output] = ["price_cache_read_cents", "price_cache_write_cents", "price_output_cents"].map((name) => Number(policy[name]));
  return [read, write, output].every(Number.isFinite) ? { read: Number(read) * CENT, write: Number(write) * CENT, output: Number(output) * CENT } : null;
}

/**
 * Running sums over turns. A proxied turn has what its requests cost; an assembled one is compared by its prices.
 * @param {Api.SeriesRow[]} rows oldest first
 * @param {Prices | null} prices
 * @param {number} [before] tokens of the whole history before the first row
 * @returns {CostPoint[]}
 */
export function costPoints(rows, prices, before = 0) {
  let spent = 0;
  let untouched = 0;
  let rewriting = 0;
  let hasRewriting = false;
  let historyBefore = before;
  return rows.map((row) => {
    let sent = 0;
    let cached = 0;
    for (const account of row.requests) {
      spent += (account.cost?.sent_nanodollars ?? 0) / 1e9;
      untouched += (account.cost?.untouched_nanodollars ?? 0) / 1e9;
      sent += account.used?.input ?? 0;
      cached += account.used?.cached ?? 0;
    }
    const { cost } = row;
    if (cost && cost.calls > 0) {
      spent += cost.nanodollars / 1e9;
      sent += cost.sent;
      cached += cost.cached;
      if (prices) {
        const whole = row.naive_tokens ?? row.tokens_total ?? cost.sent;
        const repeated = historyBefore === 0 ? 0 : Math.min(historyBefore, whole);
        const again = (cost.calls - 1) * whole * prices.read;
        untouched += repeated * prices.read + (whole - repeated) * prices.write + again + cost.output * prices.output;
        rewriting += cost.sent * prices.write + cost.output * prices.output;
        hasRewriting = true;
        historyBefore = whole;
      }
    }
    return { turn: row.turn, cachedShare: sent > 0 ? (cached / sent) * 100 : null, spent, untouched: untouched > 0 ? untouched : null, rewriting: hasRewriting ? rewriting : null };
  });
}
