// Lists that the server gives page by page.

import { get } from "./api.js";

const PAGE = 100;

/**
 * The items of a list, fetched as they come into view.
 * @template T
 */
export class KeysetList {
  /**
   * @param {string} path
   * @param {import("./api.js").Query} query
   * @param {AbortSignal} signal
   */
  constructor(path, query, signal) {
    this.path = path;
    this.query = query;
    this.signal = signal;
    /** @type {T[]} */
    this.items = [];
    /** @type {string | null} */
    this.next = null;
    this.hasStarted = false;
    /** @type {Promise<void> | null} */
    this.fetching = null;
  }

  get isWhole() {
    return this.hasStarted && this.next === null;
  }

  /** Fetches until `count` items are there, or all. @param {number} count */
  async reach(count) {
    while (!this.isWhole && this.items.length < count) {
      this.fetching ??= this.fetchPage();
      await this.fetching;
    }
  }

  async fetchPage() {
    try {
      const query = { limit: PAGE, ...this.query, cursor: this.next };
      /** @type {Api.Page<T>} */
      const page = await get(this.path, query, this.signal);
      this.items.push(...page.items);
      this.next = page.next;
      this.hasStarted = true;
    } finally {
      this.fetching = null;
    }
  }
}

/**
 * Rows that are numbered without gaps, newest first, fetched around what is in view.
 * @template {{ turn: number }} T
 */
export class TurnWindow {
  /**
   * @param {string} path
   * @param {number} turns
   * @param {AbortSignal} signal
   */
  constructor(path, turns, signal) {
    this.path = path;
    this.turns = turns;
    this.signal = signal;
    /** @type {Map<number, T>} */
    this.rows = new Map();
    /** @type {Set<number>} */
    this.asked = new Set();
  }

  /** Fetches the rows of these turns; true if something new came. @param {number} first @param {number} last */
  async reach(first, last) {
    const pages = [];
    for (let page = Math.floor((first - 1) / PAGE); page <= Math.floor((last - 1) / PAGE); page += 1) {
      if (!this.asked.has(page)) pages.push(page);
    }
    await Promise.all(pages.map((page) => this.fetchPage(page)));
    return pages.length > 0;
  }

  /** @param {number} page */
  async fetchPage(page) {
    this.asked.add(page);
    const before = Math.min((page + 1) * PAGE, this.turns) + 1;
    try {
      /** @type {Api.Page<T>} */
      const answer = await get(this.path, { before, limit: PAGE }, this.signal);
      for (const row of answer.items) this.rows.set(row.turn, row);
    } catch (error) {
      this.asked.delete(page);
      throw error;
    }
  }
}
