// Texts that try to be more than text.

export const SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"><a href=\"javascript:document.title='owned'\">click</a>";
export const MARKDOWN = "# heading\n**bold** [link](javascript:alert(1)) ![image](https://example.invalid/pixel.png)";
export const TERMINAL = "\u001b[31mred\u001b[0m \u001b]0;owned\u0007 \u009b2J";
export const BIDI = "safe \u202Egnp.exe\u202C \u2066\u200Fabc\u2069 zero\u200Bwidth";
export const LONG_LINE = "x".repeat(1_048_576);
export const ALL = [SCRIPT, MARKDOWN, TERMINAL, BIDI].join("\n");
/** A name that a session or an effort may have only if the server checks nothing. */
export const NAME = "\"><svg onload=document.title='owned'>";

/** Puts hostile text where a session has words. @param {Api.Block[]} blocks */
export function poisonBlocks(blocks) {
  return blocks.map((block, index) => {
    const text = index === 1 ? LONG_LINE.slice(0, 20_000) : index % 2 === 0 ? ALL : BIDI;
    return { ...block, text, chars: index === 1 ? LONG_LINE.length : text.length, why: SCRIPT, ...(block.effort ? { effort: NAME } : {}) };
  });
}

/** @returns {Api.Memory} */
export function hostileMemory() {
  return {
    id: "f66", body: { kind: "fact", subject: SCRIPT, content: ALL, confidence: 0.5 }, status: "new", tags: [SCRIPT], domain: BIDI,
    provenance: { author: "tool", session: NAME, turn: 6, source: TERMINAL, trust: "low" }, created: 1_763_900_000_000, updated: 1_763_900_000_000,
  };
}
