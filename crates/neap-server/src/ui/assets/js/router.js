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

/**
 * Changes the parameters in the address without drawing the screen anew.
 * @param {Record<string, string | number | null | undefined>} changes
 */
export function replaceQuery(changes) {
  const place = parsePlace(location.hash);
  const query = { ...Object.fromEntries(place.query), ...changes };
  history.replaceState(null, "", placeHash(place.screen, place.session, query));
}
