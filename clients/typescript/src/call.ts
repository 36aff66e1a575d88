/** One call of the API: what is sent, and how its answer is read. */

import { randomUUID } from "node:crypto";

import { errorOf, NeapError } from "./errors.js";
import { EventReader, LineReader } from "./lines.js";
import type { LiveEvent } from "./live.js";

type Method = "GET" | "PUT" | "POST" | "PATCH" | "DELETE";
type Value = string | number | boolean | null | undefined;
type Headers = Readonly<Record<string, string>>;

/** A call whose answer has the form `Form`. */
export class Call<Form> {
  /** The form is not checked at run time; the document of the API and its tests vouch for it. */
  declare readonly form: Form;

  constructor(
    readonly method: Method,
    readonly path: string,
    readonly content: string | undefined,
    readonly headers: Headers,
    /** Whether to send it twice is the same as to send it once. */
    readonly canRepeat: boolean,
  ) {}

  read(status: number, content: string): Form {
    if (status !== 200) throw errorOf(status, content);
    return JSON.parse(content) as Form;
  }
}

/** A call whose answer comes in lines, each of the form `Form`. */
export class Download<Form> extends Call<Form> {
  constructor(path: string, headers: Headers, canRepeat = true) {
    super("GET", path, undefined, headers, canRepeat);
  }

  /** Whether it is asked again, from its last item on, when the answer ends. */
  get isEndless(): boolean {
    return false;
  }

  reader(): LineReader {
    return new LineReader();
  }

  /** The call that asks for what comes after an item, should the answer break off. */
  after(_item: Form): Download<Form> {
    return new Download<Form>(this.path, this.headers, false);
  }

  /** Whether an item shows that the server works. */
  isProgress(_item: Form): boolean {
    return true;
  }
}

/** Events, which go on until the caller ends them. */
export class Watch extends Download<LiveEvent> {
  override get isEndless(): boolean {
    return true;
  }

  override reader(): LineReader {
    return new EventReader();
  }

  override after(item: LiveEvent): Watch {
    return new Watch(this.path, { "Last-Event-ID": item.id });
  }

  override isProgress(item: LiveEvent): boolean {
    return item.event !== "open";
  }
}

export function get<Form>(path: string, query: Record<string, Value> = {}): Call<Form> {
  return new Call("GET", path + queryText(query), undefined, {}, true);
}

export function download<Form>(path: string, query: Record<string, Value> = {}): Download<Form> {
  return new Download(path + queryText(query), {});
}

export function watch(path: string, lastEventId: string | undefined): Watch {
  return new Watch(path, lastEventId === undefined ? {} : { "Last-Event-ID": headerText(lastEventId) });
}

export function put<Form>(path: string, body: object): Call<Form> {
  return new Call("PUT", path, jsonText(body), {}, true);
}

/** A question with a body: it changes nothing. */
export function ask<Form>(path: string, body: object): Call<Form> {
  return new Call("POST", path, jsonText(body), {}, true);
}

export function post<Form>(path: string, body?: object): Call<Form> {
  return new Call("POST", path, body === undefined ? undefined : jsonText(body), {}, false);
}

/** A change that the server makes once for a key, however often it is sent. */
export function postOnce<Form>(path: string, body: object, key: string | undefined): Call<Form> {
  const headers = { "Idempotency-Key": headerText(key ?? newId()) };
  return new Call("POST", path, jsonText(body), headers, true);
}

export function patch<Form>(path: string, body: object): Call<Form> {
  return new Call("PATCH", path, jsonText(body), {}, false);
}

export function del<Form>(path: string, query: Record<string, Value>): Call<Form> {
  return new Call("DELETE", path + queryText(query), undefined, {}, false);
}

export function newId(): string {
  return randomUUID().replaceAll("-", "");
}

/** A name as one part of a path. */
export function part(name: string | number): string {
  const text = String(name);
  if (text === "") throw new NeapError("a name in the call is empty", "give the name or id of what is meant");
  // A part of dots alone would be taken for a folder.
  return /^\.+$/.test(text) ? text.replaceAll(".", "%2E") : encodeURIComponent(checked(text));
}

function queryText(query: Record<string, Value>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = given.map(([name, value]) => `${name}=${encodeURIComponent(checked(String(value)))}`).join("&");
  return text === "" ? "" : `?${text}`;
}

function jsonText(body: object): string {
  return JSON.stringify(body, (_key, value: unknown) => {
    if (typeof value === "string") return checked(value);
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new NeapError(`a number in the call is ${value}`, "send a number that JSON can carry");
    }
    return value;
  });
}

function checked(text: string): string {
  if (text.isWellFormed()) return text;
  throw new NeapError("the text has half of a character", "send text that can be encoded as UTF-8");
}

function headerText(text: string): string {
  if (/^[\x20-\x7e]+$/.test(text)) return text;
  throw new NeapError("the key of the call is empty or not plain ASCII", "give another key, or none");
}
