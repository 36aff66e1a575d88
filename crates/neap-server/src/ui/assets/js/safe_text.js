// Makes characters visible that would hide, reorder or colour the text around them.

// C0 and C1 controls except tab and line feed, soft hyphen, zero-width and direction marks, tags.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/**
 * A carriage return at the end of a line is dropped; every other hidden character becomes its picture or its number.
 * @param {string} text
 */
export function visible(text) {
  return text.replaceAll("\r\n", "\n").replace(HIDDEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
  });
}

/**
 * The text on one line, cut to a length in characters.
 * @param {string} text
 * @param {number} max
 */
export function oneLine(text, max) {
  const start = visible(text.slice(0, max * 4)).replace(/\s+/gu, " ").trim();
  const characters = Array.from(start);
  const isCut = characters.length > max || text.length > max * 4;
  return isCut ? `${characters.slice(0, max - 1).join("")}…` : start;
}
