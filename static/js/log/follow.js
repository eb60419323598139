/**
 * Follows the end of a log: asks for what is new, keeps it while nobody looks at the end, and goes
 * on from the same cursor after an outage, so nothing is lost and nothing comes twice.
 */
import { Refused } from "./source.js";

const BUSY_MS = 500;
const IDLE_MS = 2000;
const LONGEST_WAIT_MS = 10_000;
const LINES = "1000";

export class Follower {
  /**
   * @param {import("./source.js").LogSource} source @param {string} tip cursor of the newest line
   * @param {{take: (page: import("./rows.js").Page) => void, say: (text: string) => void,
   *   lost: () => void}} to
   */
  constructor(source, tip, to) {
    this.source = source;
    this.tip = tip;
    this.to = to;
    this.ended = false;
    this.refused = false;
    this.failures = 0;
    this.pause = BUSY_MS;
    this.timer = 0;
    this.asking = false;
    this.backlog = 0;
    document.addEventListener("visibilitychange", () => this.wake());
    window.addEventListener("online", () => this.wake());
    document.addEventListener("gangline:workload", () => this.look());
  }

  /** Ask at once. */
  wake() {
    if (this.ended) return;
    this.pause = BUSY_MS;
    this.#later(0);
  }

  /** The workload has changed: even a log that had ended may have a successor now. */
  look() {
    if (this.refused) return;
    this.ended = false;
    this.wake();
  }

  /** @param {number} ms */
  #later(ms) {
    clearTimeout(this.timer);
    if (!this.ended) this.timer = setTimeout(() => this.#ask(), ms);
  }

  async #ask() {
    if (this.asking || this.ended || document.hidden || !this.tip) return;
    this.asking = true;
    const tip = this.tip;
    let wait = 0;
    try {
      const page = await this.source.ask({ after: tip, limit: LINES });
      if (this.failures) this.to.say("");
      this.failures = 0;
      // Meanwhile the page may have jumped to the newest lines.
      if (tip === this.tip) wait = this.#receive(page);
    } catch (problem) {
      wait = this.#failed(problem);
    }
    this.asking = false;
    this.#later(wait);
  }

  /** @param {import("./rows.js").Page | null} page */
  #receive(page) {
    if (!page) {
      this.pause = Math.min(this.pause * 1.5, IDLE_MS);
      this.backlog = 0;
      return this.pause;
    }
    this.tip = page.after;
    this.ended = page.ended;
    this.backlog = page.newer ? this.backlog + 1 : 0;
    this.to.take(page);
    this.pause = page.lines.length || page.grown.length ? BUSY_MS : Math.min(this.pause * 1.5, IDLE_MS);
    return page.newer ? 0 : this.pause;
  }

  /** @param {unknown} problem */
  #failed(problem) {
    if (problem instanceof Refused && problem.status === 400) {
      this.to.lost();
      return BUSY_MS;
    }
    if (problem instanceof Refused && problem.status !== 429) {
      this.ended = this.refused = true;
      this.to.say(problem.message);
      return 0;
    }
    this.failures += 1;
    if (this.failures > 1) this.to.say("No connection. The log continues from here when it is back.");
    // Jitter: after a restart of the server, pages must not come back all at once.
    return Math.min(LONGEST_WAIT_MS, 500 * 2 ** this.failures) * (0.5 + Math.random() / 2);
  }
}
