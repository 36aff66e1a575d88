/** Reads answers that come in lines: server-sent events, and downloads with a JSON object a line. */

/** Makes items of the bytes that arrive. Lines end with a line feed alone. */
export class LineReader {
  readonly #decoder = new TextDecoder();
  #rest = "";

  feed(content: Uint8Array): unknown[] {
    const lines = (this.#rest + this.#decoder.decode(content, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.map((line) => this.item(line)).filter((item) => item !== undefined);
  }

  protected item(line: string): unknown {
    return line === "" ? undefined : JSON.parse(line);
  }
}

export class EventReader extends LineReader {
  #fields: Record<string, string> = {};

  protected override item(line: string): unknown {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    if (name !== "") {
      this.#fields[name] = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      return undefined;
    }
    // A comment is a line without a name, too, and stands between events.
    const { id = "", event = "", data } = this.#fields;
    this.#fields = {};
    return data === undefined ? undefined : { id, event, data: JSON.parse(data) as unknown };
  }
}
