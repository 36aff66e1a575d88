// The frame around every screen.

import { h, icon } from "./dom.js";
import { placeHash } from "./router.js";
import { oneLine } from "./safe_text.js";
import { SCREENS } from "./screens.js";

const TIDE = "M3 7h18M3 13c2.200-2.300 4.400-2.300 6.600 0s4.400 2.300 6.600 0q2.200-2.300 4.400-1M3 18.500c2.200-2.300 4.400-2.300 6.600 0s4.400 2.300 6.600 0q2.200-2.300 4.400-1";
const STATES = { live: "Live", lost: "No connection", starting: "Connecting" };

/**
 * @param {HTMLElement} host
 * @param {{ openSwitcher: () => void, toggleTheme: () => void, showShortcuts: () => void }} actions
 */
export function buildShell(host, actions) {
  const name = h("span", { class: "name" }, "–");
  const switcher = h("button", { class: "session-button", type: "button", "aria-haspopup": "dialog", click: actions.openSwitcher },
    h("span", { class: "label" }, "Session"), name);
  const links = new Map(SCREENS.map((screen) => [screen.id, h("a", {}, icon(screen.picture), screen.name)]));
  const item = (/** @type {import("./screens.js").Screen} */ screen) => h("li", {}, links.get(screen.id));
  const nav = h("nav", { class: "nav", "aria-label": "Screens" },
    h("ul", {},
      SCREENS.filter((screen) => screen.ofSession).map(item),
      h("li", { class: "group", "aria-hidden": "true" }, "All sessions"),
      SCREENS.filter((screen) => !screen.ofSession).map(item)));
  const state = h("span", {}, STATES.starting);
  const link = h("div", { class: "link-state", "data-state": "starting", role: "status" }, state);
  const button = (/** @type {string} */ label, /** @type {string} */ path, /** @type {() => void} */ act) =>
    h("button", { class: "button plain icon-button", type: "button", "aria-label": label, title: label, click: act }, icon(path));
  const foot = h("div", { class: "side-foot" }, link,
    h("div", { class: "row-tight" },
      button("Dark or light", "M12 3a9 9 0 1 0 9 9c-4.500 2-11-2.500-9-9z", actions.toggleTheme),
      button("Keyboard shortcuts", "M9 9a3 3 0 1 1 4 2.800c-.7.3-1 .8-1 1.700M12 17h.01M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18z", actions.showShortcuts)));
  const main = h("main", { class: "main", id: "main", tabindex: -1 });
  const brand = h("a", { class: "brand", href: "#/context" }, icon(TIDE), "Neap");
  const side = h("header", { class: "side" }, brand, switcher, nav, foot);
  host.replaceChildren(side, main);

  return {
    main,
    /** @param {string} id */
    setScreen(id) {
      for (const [each, anchor] of links) {
        if (each === id) {
          anchor.setAttribute("aria-current", "page");
          for (const scroller of [nav, side]) bringIntoView(scroller, anchor);
        } else anchor.removeAttribute("aria-current");
      }
    },
    /** @param {string} session */
    setSession(session) {
      name.textContent = session === "" ? "none yet" : oneLine(session, 80);
      switcher.title = oneLine(session, 200);
      for (const screen of SCREENS) links.get(screen.id)?.setAttribute("href", placeHash(screen.id, screen.ofSession ? session : ""));
    },
    /** @param {import("./live.js").LinkState} next */
    setLink(next) {
      link.dataset.state = next;
      state.textContent = STATES[next];
      link.title = STATES[next];
    },
  };
}

/**
 * Scrolls little further than needed. The browser's own `scrollIntoView` also makes the link the place from which Tab goes on.
 * @param {HTMLElement} scroller @param {HTMLElement} link
 */
function bringIntoView(scroller, link) {
  const frame = scroller.getBoundingClientRect();
  const place = link.getBoundingClientRect();
  // The row of a narrow page fades at its end.
  const fade = parseFloat(getComputedStyle(link).fontSize) * 2;
  scroller.scrollLeft += Math.min(0, place.left - frame.left) + Math.max(0, place.right - frame.right + fade);
  scroller.scrollTop += Math.min(0, place.top - frame.top) + Math.max(0, place.bottom - frame.bottom);
}
