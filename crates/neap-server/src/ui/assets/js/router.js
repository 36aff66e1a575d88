// The address after `#` names a screen, its session and its parameters: #/timeline/main?turn=12

/** @typedef {{ screen: string, session: string, query: URLSearchParams }} Place */

/**
 * @param {string} hash
 * @returns {Place}
 */
export function parsePlace(hash) {
  const [path = "", query = ""] = hash.replace(/^#\/?/u, "").split("?", 2);
  const [screen = "", session = ""] = path.split("/", 2).map(decode);
  return { screen, session, query: new URLSearchParams(query) };
}

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * @param {string} screen
 * @param {string} [session]
 * @param {Record<string, string | number | null | undefined>} [query]
 */
export function placeHash(screen, session = "", query = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") parameters.set(name, String(value));
  }
  const tail = parameters.size > 0 ? `?${parameters}` : "";
  const middle = session === "" ? "" : `/${encodeURIComponent(session)}`;
  return `#/${encodeURIComponent(screen)}${middle}${tail}`;
}

/** Browsers refuse more than some 200 changes of an address in 10 seconds, and say so in the console. */
const REPLACE_EVERY_MS = 100;
let replacedAt = -REPLACE_EVERY_MS;
let timer = 0;
/** What waits to be changed, and in which address. @type {{ hash: string, changes: Record<string, string | number | null | undefined> }} */
let waiting = { hash: "", changes: {} };

/**
 * Changes the parameters in the address without drawing the screen anew: at once, or soon after the last change.
 * @param {Record<string, string | number | null | undefined>} changes
 */
export function replaceQuery(changes) {
  const { hash } = location;
  waiting = { hash, changes: waiting.hash === hash ? { ...waiting.changes, ...changes } : changes };
  clearTimeout(timer);
  const wait = replacedAt + REPLACE_EVERY_MS - performance.now();
  if (wait > 0) timer = setTimeout(replaceNow, wait);
  else replaceNow();
}

function replaceNow() {
  const { hash, changes } = waiting;
  waiting = { hash: "", changes: {} };
  // Somebody has gone elsewhere.
  if (location.hash !== hash) return;
  const place = parsePlace(hash);
  replacedAt = performance.now();
  history.replaceState(null, "", placeHash(place.screen, place.session, { ...Object.fromEntries(place.query), ...changes }));
}
