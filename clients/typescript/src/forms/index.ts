/** The JSON of each thing, as docs/openapi.json has it. Written by tools/forms.mjs. */

export type * from "./memories.js";
export type * from "./server.js";
export type * from "./sessions.js";
export type * from "./turns.js";
