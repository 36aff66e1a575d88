// The layers of a context: their order, their groups, and what each is for.

/** @typedef {"rules" | "memories" | "summaries" | "logs" | "tail" | "message" | "forwarded"} LayerGroup */

/** @type {Map<string, { name: string, group: LayerGroup, about: string }>} */
const LAYERS = new Map([
  ["protocol", { name: "Rules", group: "rules", about: "Neap's own rules, in every prompt" }],
  ["tools", { name: "Tools", group: "rules", about: "The schemas of the tools" }],
  ["identity", { name: "Identity", group: "memories", about: "Who the agent is" }],
  ["profile", { name: "Preferences", group: "memories", about: "What is always loaded" }],
  ["censors", { name: "Rules of people", group: "memories", about: "What not to do" }],
  ["frame", { name: "Frame", group: "memories", about: "The stance for the message" }],
  ["focus", { name: "Focus", group: "memories", about: "What the message is about" }],
  ["decisions", { name: "Decisions", group: "memories", about: "Decisions that are relevant" }],
  ["facts", { name: "Facts", group: "memories", about: "Facts that are relevant" }],
  ["procedures", { name: "Procedures", group: "memories", about: "How things are done" }],
  ["episodes", { name: "Episodes", group: "memories", about: "What happened before" }],
  ["calibration", { name: "Calibration", group: "memories", about: "How well the agent judges" }],
  ["summaries", { name: "Summaries", group: "summaries", about: "Concluded efforts, in short" }],
  ["note", { name: "Note", group: "summaries", about: "How to reach what is not shown" }],
  ["ambient", { name: "Ambient chat", group: "logs", about: "Recent chat outside efforts" }],
  ["expanded", { name: "Expanded logs", group: "logs", about: "Concluded efforts, brought back" }],
  ["open", { name: "Open logs", group: "logs", about: "Other efforts that are open" }],
  ["active", { name: "Active log", group: "logs", about: "The effort in work" }],
  ["tail", { name: "Tail", group: "tail", about: "Said since the last rewrite" }],
  ["message", { name: "This turn", group: "message", about: "The new message and its tool calls" }],
  ["forwarded", { name: "Forwarded", group: "forwarded", about: "What the provider got of the client's request" }],
]);

/** Messages that another program's prompt had have no layer. @type {Map<string, LayerGroup>} */
const ROLE_GROUPS = new Map([["system", "rules"], ["user", "message"], ["assistant", "tail"], ["tool", "logs"]]);

/** @type {Record<LayerGroup, string>} */
export const GROUP_NAMES = {
  rules: "Rules and tools",
  memories: "Memories",
  summaries: "Summaries",
  logs: "Logs",
  tail: "Tail",
  message: "This turn",
  forwarded: "Forwarded",
};

const ORDER = [...LAYERS.keys()];

/** @param {string} layer */
export function layerInfo(layer) {
  return LAYERS.get(layer) ?? { name: layer, group: /** @type {LayerGroup} */ ("rules"), about: "" };
}

/** @param {{ layer: string | null, role: string }} block */
export function blockInfo(block) {
  if (block.layer !== null) return layerInfo(block.layer);
  return { name: "Message", group: ROLE_GROUPS.get(block.role) ?? "logs", about: "A message of the turn" };
}

/** @param {string} layer */
export function layerRank(layer) {
  const rank = ORDER.indexOf(layer);
  return rank < 0 ? ORDER.length : rank;
}

/**
 * Tokens by group, in the order of the context.
 * @param {Record<string, number>} layers
 * @returns {{ group: LayerGroup, tokens: number }[]}
 */
export function groupTokens(layers) {
  /** @type {Map<LayerGroup, number>} */
  const sums = new Map(/** @type {LayerGroup[]} */ (Object.keys(GROUP_NAMES)).map((group) => [group, 0]));
  for (const [layer, tokens] of Object.entries(layers)) {
    const { group } = layerInfo(layer);
    sums.set(group, (sums.get(group) ?? 0) + tokens);
  }
  return [...sums].map(([group, tokens]) => ({ group, tokens }));
}

/**
 * What a block is, in a few words.
 * @param {{ layer: string | null, role: string, turn?: number | null, effort?: string | null }} block
 */
export function blockTitle(block) {
  const { name, group } = blockInfo(block);
  if (block.layer === "summaries" && block.effort) return `Summary of ${block.effort}`;
  if (block.turn) return `Turn ${block.turn}, ${block.role}`;
  if (block.effort) return `${name} of ${block.effort}`;
  return group === "logs" || group === "tail" || group === "message" ? `${name}, ${block.role}` : name;
}
