/** How large texts are for a model. */

const BYTES_PER_TOKEN = 3;
const MESSAGE_TOKENS = 8;

/** An estimate on the safe side, as no tokenizer is here: ordinary text has four bytes in a token. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/** The same for a message with such texts, and what it takes besides. */
export function messageTokens(texts: readonly string[]): number {
  return texts.reduce((total, text) => total + estimateTokens(text), MESSAGE_TOKENS);
}

/** The beginning and the end of a text, and how much is missing between them. */
export function shortened(text: string, tokensMax: number): string {
  const tokens = estimateTokens(text);
  if (tokens <= tokensMax) return text;
  let chars = Math.floor((text.length * tokensMax) / tokens);
  for (;;) {
    const cut = withoutMiddle(text, chars);
    if (chars === 0 || estimateTokens(cut) <= tokensMax) return cut;
    chars = Math.floor(chars * 0.9);
  }
}

function withoutMiddle(text: string, chars: number): string {
  const head = Math.ceil((chars * 2) / 3);
  const mark = `\n[… ${text.length - chars} of ${text.length} characters left out …]\n`;
  return (text.slice(0, head) + mark + text.slice(text.length - (chars - head))).toWellFormed();
}
