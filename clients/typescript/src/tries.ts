/** Whether a call that failed is made again. Only what may be repeated is, a bounded number of times. */

import type { Call, Download } from "./call.js";
import { ServerUnavailable, STORE_BUSY } from "./errors.js";
import type { Address, Server } from "./server.js";
import type { TransportFailure } from "./transport.js";

/** Milliseconds before each further try. */
const PAUSES = [20, 100, 400];

export class Tries {
  #made = 0;
  #restarts = 0;
  #address: Address | undefined;
  #isSent = false;

  constructor(
    private call: Call<unknown>,
    private readonly server: Server,
  ) {}

  /** Before each try. Refuses a server that was started twice for one call: it would end again. */
  begin(address: Address): void {
    this.#isSent = false;
    if (this.#address !== undefined && address !== this.#address) this.#restarts += 1;
    if (this.#restarts > 1) {
      throw new ServerUnavailable(
        "the server was started again, and ended again",
        "run `neap store doctor` on its data folder",
      );
    }
    this.#address = address;
  }

  /** From now on the call may arrive. */
  send(): void {
    this.#isSent = true;
  }

  /** The pause before the next try; undefined if the answer stands. */
  afterAnswer(status: number): number | undefined {
    return status === STORE_BUSY && this.call.canRepeat ? this.#pause() : undefined;
  }

  /** The pause before the next try; throws if there must be none. */
  async afterFailure(failure: TransportFailure): Promise<number> {
    const neverSent = !this.#isSent || failure.kind === "refused" || failure.kind === "unsent";
    if (this.#address !== undefined && failure.kind === "refused") await this.server.gaveUp(this.#address);
    const mayRepeat = (neverSent || this.call.canRepeat) && failure.kind !== "late";
    const pause = mayRepeat ? this.#pause() : undefined;
    if (pause === undefined) throw this.#unavailable(failure, neverSent);
    return pause;
  }

  /** The pause before events are asked for again, which the server ended. */
  afterEnd(): number {
    const pause = this.#pause();
    if (pause === undefined) {
      throw new ServerUnavailable("the server ends its events again and again", "look at what the server logs");
    }
    return pause;
  }

  /** How to go on behind an item, should the answer break off. */
  afterItem<Form>(download: Download<Form>, item: Form): Download<Form> {
    if (download.isProgress(item)) this.#made = this.#restarts = 0;
    const rest = download.after(item);
    this.call = rest;
    return rest;
  }

  #pause(): number | undefined {
    const pause = PAUSES[this.#made];
    this.#made += 1;
    return pause;
  }

  #unavailable(failure: TransportFailure, neverSent: boolean): ServerUnavailable {
    const api = this.#address?.api.href ?? "the server";
    const what = failure.message;
    if (failure.kind === "late") {
      return new ServerUnavailable(`${api} did not answer in time (${what})`, "allow more with timeoutMs", failure);
    }
    if (neverSent || this.call.canRepeat) {
      return new ServerUnavailable(`cannot reach ${api}: ${what}`, "check that the server runs, and baseUrl", failure);
    }
    const hint =
      this.call.method === "GET"
        ? "what came is incomplete: ask again"
        : "the change may have been made or not: look, then make it again if need be";
    return new ServerUnavailable(`${api} broke off before its answer was whole: ${what}`, hint, failure);
  }
}
