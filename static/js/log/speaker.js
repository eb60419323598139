/** Tells people who do not see the log about its error lines, at most every ten seconds. */
import { counted } from "./rows.js";

const EVERY_MS = 10_000;
const LONGEST = 200;

export class Speaker {
  /** @param {HTMLElement} place a live region */
  constructor(place) {
    this.place = place;
    this.spokenAt = -EVERY_MS;
    /** @type {string[]} */
    this.errors = [];
  }

  /** @param {import("./rows.js").Row[]} lines */
  hear(lines) {
    for (const line of lines) {
      if (line.kind === "err") this.errors.push(line.parts.map(([text]) => text).join(""));
    }
    if (!this.errors.length || performance.now() - this.spokenAt < EVERY_MS) return;
    this.spokenAt = performance.now();
    const more = this.errors.length - 1;
    const words = this.errors[0].slice(0, LONGEST);
    this.place.textContent = more ? `${words}, and ${counted(more, "more error line")}` : words;
    this.errors = [];
  }
}
