// Starts the page, and shows the screen that the address names.

import { ApiError } from "./api.js";
import { fill, h } from "./dom.js";
import { failureBox, loadingBox, noSessionBox } from "./empty.js";
import { addShortcuts, listenForKeys, setScreenShortcuts, showShortcuts } from "./keys.js";
import { connect, onLive } from "./live.js";
import { notify, setNoticeHost } from "./notice.js";
import { parsePlace, placeHash } from "./router.js";
import { screenHead } from "./screen_head.js";
import { SCREENS, screenOf } from "./screens.js";
import { chooseSession, openSwitcher, rememberSession } from "./session_switcher.js";
import { buildShell } from "./shell.js";
import { toggleTheme } from "./theme.js";

const element = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

let current = new AbortController();
let isConnected = false;
/** Whether the screen waits for the first session of an empty store. */
let isWithoutSession = false;
const shell = buildShell(element("shell"), { openSwitcher, toggleTheme, showShortcuts });

/** Shows what the address names; a place without a session gets one. */
async function showPlace() {
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const { hash } = location;
  const place = parsePlace(hash);
  const screen = screenOf(place.screen) ?? SCREENS[0];
  if (!screen) return;
  shell.setScreen(screen.id);
  document.title = `${screen.name} · Neap`;
  setScreenShortcuts([]);
  isWithoutSession = false;
  const host = h("section", { class: "screen", "aria-label": screen.name });
  const waits = setTimeout(() => !signal.aborted && host.childElementCount === 0 && fill(host, loadingBox()), 150);
  fill(shell.main, host);
  try {
    const [module, session] = await Promise.all([screen.load(), chooseSession(place.session, signal)]);
    // An address that changed meanwhile is shown by its own event, which comes later.
    if (signal.aborted || location.hash !== hash) return;
    rememberSession(session);
    shell.setSession(session);
    listen();
    if (screen.ofSession && place.session !== session) {
      history.replaceState(null, "", placeHash(screen.id, session, Object.fromEntries(place.query)));
    }
    host.replaceChildren();
    isWithoutSession = screen.ofSession && session === "";
    if (isWithoutSession) fill(host, screenHead(screen.id), noSessionBox());
    else await module.show(host, { session, query: place.query, signal });
  } catch (error) {
    if (signal.aborted) return;
    fill(host, screenHead(screen.id), failureBox(error, showPlace));
    if (!(error instanceof ApiError)) throw error;
  } finally {
    clearTimeout(waits);
  }
}

/** Listens to events only once the server has let this browser in. */
function listen() {
  if (isConnected) return;
  isConnected = true;
  connect(shell.setLink);
  onLive(({ kind, data }) => {
    const isCurrent = data?.session === parsePlace(location.hash).session;
    if (kind === "reload" || (kind === "turn" && isWithoutSession) || (kind === "session" && data?.kind === "scrubbed" && isCurrent)) showPlace();
  }, new AbortController().signal);
}

setNoticeHost(element("notices"));
addShortcuts([
  ...SCREENS.map((screen) => ({
    keys: `g ${screen.key}`,
    does: screen.name,
    act: () => {
      const { session } = parsePlace(location.hash);
      location.hash = placeHash(screen.id, screen.ofSession ? session : "");
    },
  })),
  { keys: "s", does: "switch to another session", act: openSwitcher },
  { keys: "d", does: "dark or light", act: toggleTheme },
  { keys: "?", does: "this list", act: showShortcuts },
]);
listenForKeys();
addEventListener("unhandledrejection", (event) => {
  // A screen that was left has ended its requests; what else fails in the background is told here.
  if (event.reason instanceof ApiError) notify(event.reason.message, "bad");
  else if (event.reason?.name !== "AbortError") return;
  event.preventDefault();
});
addEventListener("hashchange", (event) => {
  if (new URL(event.newURL).hash !== "#main") showPlace();
});
showPlace();
