// What became of efforts, read from the newest change back, only as far as the efforts in view need.

import { KeysetList } from "./keyset.js";

/** Pages read for one view; more are read when the list is scrolled. */
const PAGES_MAX = 10;

export class EffortHistory {
  /**
   * @param {string} path of the session's changes
   * @param {AbortSignal} signal
   */
  constructor(path, signal) {
    /** @type {KeysetList<Api.Change>} */
    this.list = new KeysetList(path, { limit: 200 }, signal);
    /** Newest first. @type {Map<string, Api.Change[]>} */
    this.byEffort = new Map();
    this.indexed = 0;
  }

  /** The changes of an effort that are known, oldest first. @param {string} id */
  of(id) {
    return [...(this.byEffort.get(id) ?? [])].reverse();
  }

  /** Whether all its changes are known. @param {string} id */
  isWhole(id) {
    return this.list.isWhole || this.byEffort.get(id)?.at(-1)?.kind === "effort_opened";
  }

  /** Reads until all changes of these efforts are known; true if there was something to read. @param {string[]} ids */
  async reach(ids) {
    let pages = 0;
    for (; pages < PAGES_MAX && ids.some((id) => !this.isWhole(id)); pages += 1) {
      await this.list.reach(this.list.items.length + 1);
      for (; this.indexed < this.list.items.length; this.indexed += 1) this.add(/** @type {Api.Change} */ (this.list.items[this.indexed]));
    }
    return pages > 0;
  }

  /** @param {Api.Change} change */
  add(change) {
    for (const id of change.ids ?? []) {
      const found = this.byEffort.get(id);
      if (found) found.push(change);
      else this.byEffort.set(id, [change]);
    }
  }
}
