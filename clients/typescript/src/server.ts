/** Where a client's server is: a given address, or an embedded server that is started when it is needed. */

import { NeapError, ServerUnavailable } from "./errors.js";
import { ServerProcess } from "./process.js";
import { findProgram } from "./program.js";

export const PREFIX = "/api/v1";

export interface Address {
  readonly api: URL;
  readonly key: string;
}

export interface Server {
  /** Of the process, if it is this client's own and runs. */
  readonly pid: number | undefined;
  /** The address; starts the server if need be. */
  address(): Promise<Address>;
  /** Nothing answers there. */
  gaveUp(address: Address): Promise<void>;
  close(): Promise<void>;
}

/** Which server a client speaks to. */
export interface ServerOptions {
  /** The program to start; without it, that of NEAP_BIN, of this platform's package, or on the path. */
  program?: string | undefined;
  /** The data folder of the server to start; without it, the program's usual one. */
  dataDir?: string | undefined;
  /** The agent whose memories are meant. */
  agent?: string | undefined;
  /** A server that runs. */
  baseUrl?: string | undefined;
  /** The text of keys/api.token in that server's data folder. */
  key?: string | undefined;
}

/** Somebody else's. */
class RemoteServer implements Server {
  readonly pid = undefined;
  readonly #address: Address;
  #isClosed = false;

  constructor(baseUrl: string, key: string) {
    this.#address = addressOf(apiOf(baseUrl), key);
  }

  async address(): Promise<Address> {
    if (this.#isClosed) throw closed();
    return this.#address;
  }

  async gaveUp(): Promise<void> {}

  async close(): Promise<void> {
    this.#isClosed = true;
  }
}

/** Ends servers whose clients are gone. */
const orphans = new FinalizationRegistry((process: ServerProcess) => process.letGo());

/** A process of this client's own, started at the first call, and again if it was killed. */
class EmbeddedServer implements Server {
  readonly #program: string | undefined;
  readonly #options: string[] = [];
  #process: ServerProcess | undefined;
  #address: Address | undefined;
  #starting: Promise<Address> | undefined;
  #isClosed = false;

  constructor(options: ServerOptions) {
    this.#program = options.program;
    if (options.dataDir !== undefined) this.#options.push(`--data-dir=${options.dataDir}`);
    if (options.agent !== undefined) this.#options.push(`--agent=${options.agent}`);
  }

  get pid(): number | undefined {
    return this.#process?.child.pid;
  }

  async address(): Promise<Address> {
    if (this.#isClosed) throw closed();
    if (this.#address !== undefined && this.#process?.hasEnded() === false) return this.#address;
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async gaveUp(address: Address): Promise<void> {
    if (this.#address === address) await this.#end();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#starting?.catch(() => undefined);
    await this.#end();
  }

  async #start(): Promise<Address> {
    await this.#end();
    const process = await ServerProcess.start(findProgram(this.#program), this.#options);
    this.#process = process;
    orphans.register(this, process, this);
    try {
      this.#address = addressOf(apiOf(process.api), await process.readKey());
    } catch (error) {
      throw new ServerUnavailable(`cannot read the server's key: ${String(error)}`, "check dataDir", error);
    }
    return this.#address;
  }

  async #end(): Promise<void> {
    const process = this.#process;
    this.#address = this.#process = undefined;
    orphans.unregister(this);
    await process?.end();
  }
}

export function serverOf(options: ServerOptions): Server {
  const { program, dataDir, agent, baseUrl, key } = options;
  if (baseUrl === undefined && key === undefined) return new EmbeddedServer(options);
  if (baseUrl === undefined || key === undefined) {
    throw new NeapError(
      "baseUrl and key belong together",
      "the key is the text of keys/api.token in the server's data folder",
    );
  }
  if (program !== undefined || dataDir !== undefined || agent !== undefined) {
    throw new NeapError(
      "baseUrl names a server that runs, but program, dataDir and agent are for one to start",
      "give the one or the other",
    );
  }
  return new RemoteServer(baseUrl, key);
}

function apiOf(baseUrl: string): URL {
  if (!/^https?:\/\//.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw new NeapError(
      `baseUrl is no address: ${JSON.stringify(baseUrl)}`,
      "an address looks like http://127.0.0.1:6327",
    );
  }
  const url = new URL(baseUrl);
  url.pathname = url.pathname.replace(/\/+$/, "").replace(PREFIX, "") + PREFIX;
  return url;
}

function addressOf(api: URL, key: string): Address {
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new NeapError("the key is empty or has characters that no key has", "give the text of keys/api.token");
  }
  return { api, key };
}

function closed(): NeapError {
  return new NeapError("this client is closed", "make another one");
}
