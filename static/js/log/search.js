/** Search in the whole log: count, list, next and previous hit. */
import { counted } from "./rows.js";
import { Refused } from "./source.js";

/** @typedef {{id: string, pod: string, time: string, text: string}} Hit */

export class LogSearch {
  /**
   * @param {HTMLElement} root @param {import("./source.js").LogSource} source
   * @param {(id: string) => Promise<void>} open shows the line of this id in the middle
   * @param {(text: string) => void} say
   */
  constructor(root, source, open, say) {
    this.source = source;
    this.open = open;
    this.say = say;
    this.text = "";
    /** @type {Hit[]} */
    this.hits = [];
    this.further = "";
    this.at = -1;
    /** @param {string} name */
    const part = (name) => /** @type {HTMLElement} */ (root.querySelector(`[data-log-${name}]`));
    this.bar = part("hits");
    this.count = part("hit-count");
    this.found = part("found");
    this.list = part("list");
    part("next").addEventListener("click", () => this.step(1));
    part("previous").addEventListener("click", () => this.step(-1));
    this.list.addEventListener("click", () => this.toggle());
    this.found.addEventListener("click", (event) => this.choose(event));
  }

  /** @param {string} text */
  async run(text) {
    this.text = text;
    if (!text) {
      this.show({ hits: [], further: "" });
      return;
    }
    const answer = await this.#ask({ q: text });
    if (!answer || this.text !== text) return;
    this.show(answer);
    if (this.hits.length) await this.step(1);
  }

  /** What was found, from here or already in the page. @param {{hits: Hit[], further: string}} answer @param {string} [at] */
  show(answer, at = "") {
    this.hits = answer.hits;
    this.further = answer.further;
    this.at = this.hits.findIndex((hit) => hit.id === at);
    this.bar.hidden = !this.text;
    if (!this.text) this.toggle(false);
    this.draw();
  }

  draw() {
    const more = this.further ? "+" : "";
    const total = `${counted(this.hits.length, "hit").replace(" ", `${more} `)}`;
    this.count.textContent = this.at < 0 ? total : `${this.at + 1} of ${total}`;
    const list = document.createElement("ol");
    for (const [index, hit] of this.hits.entries()) {
      const row = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.hit = String(index);
      if (index === this.at) button.setAttribute("aria-current", "true");
      for (const text of [hit.time, hit.pod, hit.text]) {
        const cell = document.createElement("span");
        cell.textContent = text;
        button.append(cell);
      }
      row.append(button);
      list.append(row);
    }
    const head = document.createElement("p");
    head.className = "log-found-head";
    head.textContent = this.hits.length ? "" : "No matches.";
    if (this.further) {
      head.textContent = this.hits.length ? "Showing the first matches." : "Not found so far.";
      const on = document.createElement("button");
      on.type = "button";
      on.className = "button small";
      on.textContent = "Continue search";
      on.dataset.further = "";
      head.append(" ", on);
    }
    this.found.replaceChildren(...(head.textContent ? [head] : []), list);
    for (const button of this.bar.querySelectorAll("button")) button.hidden = !this.hits.length;
    if (this.text && !this.hits.length) this.toggle(true);
  }

  /** @param {boolean} [open] */
  toggle(open = this.found.hidden) {
    this.found.hidden = !open;
    this.list.setAttribute("aria-expanded", String(open));
  }

  /** @param {number} by */
  async step(by) {
    if (!this.hits.length) return;
    const from = this.at < 0 && by < 0 ? 0 : this.at;
    await this.go((from + by + this.hits.length) % this.hits.length);
  }

  /** @param {number} index */
  async go(index) {
    this.at = index;
    const buttons = this.found.querySelectorAll("[data-hit]");
    for (const [number, button] of buttons.entries()) {
      if (number === index) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
    if (!this.found.hidden) buttons[index]?.scrollIntoView({ block: "nearest" });
    const more = this.further ? "+" : "";
    this.count.textContent = `${index + 1} of ${counted(this.hits.length, "hit").replace(" ", `${more} `)}`;
    await this.open(this.hits[index].id);
  }

  /** @param {Event} event */
  async choose(event) {
    const target = /** @type {Element} */ (event.target);
    const hit = target.closest("[data-hit]");
    if (hit instanceof HTMLElement) await this.go(Number(hit.dataset.hit));
    if (target.closest("[data-further]")) {
      const answer = await this.#ask({ q: this.text, reached: this.further });
      if (!answer) return;
      this.show({ hits: [...this.hits, ...answer.hits], further: answer.further }, this.hits[this.at]?.id);
    }
  }

  /** @param {Object<string, string>} question */
  async #ask(question) {
    this.bar.hidden = false;
    this.count.textContent = "Searching…";
    try {
      return await this.source.ask(question);
    } catch (problem) {
      this.count.textContent = "";
      this.say(problem instanceof Refused ? problem.message : "The search did not answer. Try again.");
      return null;
    }
  }
}
