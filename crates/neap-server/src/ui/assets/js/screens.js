// The screens: their names, keys and pictures, in the order of the navigation.

/**
 * @typedef {object} ScreenContext
 * @property {string} session the session's name; empty for a screen that needs none
 * @property {URLSearchParams} query
 * @property {AbortSignal} signal ends when another screen is shown
 */
/** @typedef {(host: HTMLElement, context: ScreenContext) => void | Promise<void>} Show */
/**
 * @typedef {object} Screen
 * @property {string} id
 * @property {string} name
 * @property {string} key pressed after `g`
 * @property {boolean} ofSession whether it shows one session
 * @property {string} about what it shows, in a sentence
 * @property {string} picture
 * @property {() => Promise<{ show: Show }>} load
 */

/** @type {Screen[]} */
export const SCREENS = [
  { id: "context", name: "Context", key: "c", ofSession: true,
    about: "What the model sees: every block of the prompt, why it is there, and what had no room.",
    picture: "M4 7h16M4 12h11M4 17h7",
    load: () => import("./screens/context.js") },
  { id: "timeline", name: "Timeline", key: "t", ofSession: true,
    about: "Every prompt of the session: what entered, what left, what was rewritten, and why. Any turn exactly as it was sent.",
    picture: "M3 12h18M7 8v8M12 5v14M17 9v6",
    load: () => import("./screens/timeline.js") },
  { id: "efforts", name: "Efforts", key: "e", ofSession: true,
    about: "Each piece of work: open, concluded to a summary, expanded again when it is asked about, evicted when nothing refers to it.",
    picture: "M4 6h9M8 12h12M6 18h7",
    load: () => import("./screens/efforts.js") },
  { id: "receipts", name: "Receipts", key: "r", ofSession: true,
    about: "Each summary is measured: names, numbers, dates, paths and negations of its original that it retained.",
    picture: "M6 3h12v18l-3-2-3 2-3-2-3 2zM9 8h6M9 12h6",
    load: () => import("./screens/receipts.js") },
  { id: "cost", name: "Cost", key: "o", ofSession: true,
    about: "What the session cost, and what it would have cost without Neap.",
    picture: "M4 19h16M5 15l5-5 3 3 6-8",
    load: () => import("./screens/cost.js") },
  { id: "recall", name: "Recall", key: "f", ofSession: false,
    about: "Ask as an agent would: every candidate with the parts of its score, and why it is in or out.",
    picture: "M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM16 16l4.500 4.500",
    load: () => import("./screens/recall.js") },
  { id: "memories", name: "Memories", key: "m", ofSession: false,
    about: "What the agent knows beyond one conversation: from whom, how far it is trusted, and what replaced it.",
    picture: "M6 4h12v16l-6-4-6 4z",
    load: () => import("./screens/memories.js") },
  { id: "now", name: "Now", key: "n", ofSession: false,
    about: "What passes through the proxy, newest first: what the client sent, what the provider got.",
    picture: "M3 12h4l3-7 4 14 3-7h4",
    load: () => import("./screens/now.js") },
  { id: "sessions", name: "Sessions", key: "s", ofSession: false,
    about: "Every conversation that Neap has recorded, last changed first.",
    picture: "M4 5h16v5H4zM4 14h16v5H4z",
    load: () => import("./screens/sessions.js") },
];

/** @param {string} id */
export function screenOf(id) {
  return SCREENS.find((screen) => screen.id === id);
}
