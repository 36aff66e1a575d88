// What happens in the store and in the proxy, as it happens.

const KINDS = ["request", "turn", "rewrite", "effort", "memory", "session"];
/** A browser reconnects by itself, unless the server refused; then this tries again. */
const RETRY_MS = 3_000;

/** @typedef {"live" | "lost" | "starting"} LinkState */
/** @typedef {{ kind: string, data: any }} LiveMessage */

/** @type {Set<(message: LiveMessage) => void>} */
const listeners = new Set();
/** @type {(state: LinkState) => void} */
let showState = () => {};
let hasOpened = false;

/**
 * @param {(message: LiveMessage) => void} listener also called with the kind `reload` if messages were missed
 * @param {AbortSignal} signal ends it
 */
export function onLive(listener, signal) {
  listeners.add(listener);
  signal.addEventListener("abort", () => listeners.delete(listener));
}

/**
 * Calls `act` once, when the session's next turn begins.
 * @param {string} session
 * @param {() => void} act
 * @param {AbortSignal} signal
 */
export function onFirstTurn(session, act, signal) {
  const waits = new AbortController();
  onLive(({ kind, data }) => {
    if (kind !== "turn" || data.session !== session) return;
    waits.abort();
    act();
  }, AbortSignal.any([signal, waits.signal]));
}

/** @param {(state: LinkState) => void} onState */
export function connect(onState) {
  showState = onState;
  showState("starting");
  open();
}

function open() {
  const source = new EventSource("/api/v1/events");
  source.addEventListener("open", (event) => {
    if (!(event instanceof MessageEvent)) return;
    const { resumed } = parse(event.data);
    showState("live");
    if (hasOpened && !resumed) tell({ kind: "reload", data: null });
    hasOpened = true;
  });
  for (const kind of KINDS) {
    source.addEventListener(kind, (event) => {
      tell({ kind, data: parse(/** @type {MessageEvent} */ (event).data) });
    });
  }
  source.addEventListener("error", () => {
    showState("lost");
    if (source.readyState === EventSource.CLOSED) setTimeout(open, RETRY_MS);
  });
}

/** @param {LiveMessage} message */
function tell(message) {
  for (const listener of [...listeners]) listener(message);
}

/** @param {string} text */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/**
 * Runs `act` soon, once for many calls, and never twice at a time.
 * @param {() => Promise<void>} act
 * @param {number} waitMs
 * @param {AbortSignal} signal
 */
export function gather(act, waitMs, signal) {
  let timer = 0;
  let isRunning = false;
  let isWanted = false;
  const run = async () => {
    timer = 0;
    if (signal.aborted) return;
    isRunning = true;
    isWanted = false;
    try {
      await act();
    } finally {
      isRunning = false;
      if (isWanted) schedule();
    }
  };
  const schedule = () => {
    if (signal.aborted) return;
    isWanted = true;
    if (!isRunning && !timer) timer = setTimeout(run, waitMs);
  };
  return schedule;
}
