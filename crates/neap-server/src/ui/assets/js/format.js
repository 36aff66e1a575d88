// Figures and times as people read them.

const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** @param {number | null | undefined} value */
export function count(value) {
  return value === null || value === undefined ? "–" : WHOLE.format(value);
}

/**
 * A count with its noun.
 * @param {number} value
 * @param {string} noun
 */
export function counted(value, noun) {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/**
 * For axes: 1,200 is 1.2k.
 * @param {number} value
 */
export function brief(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return `${trim(value / 1e9)}G`;
  if (size >= 1e6) return `${trim(value / 1e6)}M`;
  if (size >= 1e3) return `${trim(value / 1e3)}k`;
  return trim(value);
}

/** @param {number} value */
function trim(value) {
  return String(Number(value.toPrecision(Math.abs(value) >= 100 ? 3 : 2)));
}

/**
 * @param {number} part
 * @param {number} whole
 */
export function percent(part, whole) {
  if (!(whole > 0)) return "–";
  const share = (part / whole) * 100;
  return `${share > 0 && share < 10 ? share.toFixed(1) : Math.round(share)} %`;
}

/** @param {number | null | undefined} value in dollars */
export function dollars(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1000) return `${value < 0 ? "-" : ""}$${WHOLE.format(size)}`;
  const digits = size === 0 || size >= 0.995 ? 2 : size >= 0.01 ? 3 : 5;
  return `${value < 0 ? "-" : ""}$${size.toFixed(digits)}`;
}

/**
 * For axes: as many decimals as the distance between two ticks needs.
 * @param {number} value in dollars
 * @param {number} step
 */
export function dollarTick(value, step) {
  let digits = 0;
  while (digits < 8 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits += 1;
  return `$${value.toFixed(digits === 1 ? 2 : digits)}`;
}

/** @param {number | null | undefined} at milliseconds since 1970 */
export function time(at) {
  if (at === null || at === undefined) return "–";
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "–" : `${day(date)} ${clock(date)}`;
}

/** @param {Date} date */
function day(date) {
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** @param {Date} date */
export function clock(date) {
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** @param {number} value */
function two(value) {
  return String(value).padStart(2, "0");
}

/**
 * @param {number} at milliseconds since 1970
 * @param {number} now
 */
export function ago(at, now) {
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  const days = Math.floor(seconds / 86_400);
  return days < 60 ? `${counted(days, "day")} ago` : time(at).slice(0, 10);
}

/** @param {number} ms */
export function duration(ms) {
  return ms < 10_000 ? `${count(ms)} ms` : `${count(ms / 1000)} s`;
}

/**
 * A stored word as prose: `main_turn` is "main turn".
 * @param {string} word
 */
export function words(word) {
  return word.replaceAll("_", " ");
}
