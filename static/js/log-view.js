/** The log tab: a window of rows over a long merged log, that follows the end or stays put. */
import { Follower } from "./log/follow.js";
import { highlight } from "./log/highlight.js";
import { counted, grow, localise, rowOf } from "./log/rows.js";
import { LogSearch } from "./log/search.js";
import { LogSource, Refused } from "./log/source.js";
import { Speaker } from "./log/speaker.js";
import { Switches } from "./log/switches.js";
import { LogWindow, MOST_ROWS } from "./log/window.js";

/** @typedef {import("./log/rows.js").Page} Page @typedef {import("./log/window.js").Block} Block */

const NEAR = 600;
const PAGE = "500";
const BACKLOG = 10;
const TYPING_MS = 500;

class LogView {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    const data = root.dataset;
    this.view = this.part("view");
    this.list = this.part("rows");
    this.form = /** @type {HTMLFormElement} */ (this.part("form"));
    this.followButton = this.part("follow");
    this.source = new LogSource(data.url ?? "", data.attempt ?? "", this.field("pod"));
    this.window = new LogWindow(this.view, this.list);
    this.window.adopt({ before: data.before ?? "", after: data.after ?? "", rows: this.rowsInPage() });
    this.hasOlder = "older" in data;
    this.isAtTip = !("newer" in data);
    this.follows = this.isAtTip && !data.at;
    /** @type {Block[]} */
    this.waiting = [];
    this.unseen = 0;
    this.typing = 0;
    this.loading = false;
    this.state = "";
    this.speaker = new Speaker(this.part("said"));
    /** @type {Map<string, HTMLElement>} */
    this.rows = new Map(this.window.first.rows.map((row) => [row.dataset.id ?? "", row]));
    this.search = new LogSearch(root, this.source, (id) => this.open(id), (text) => this.say(text));
    this.follower = new Follower(this.source, this.isAtTip ? this.window.last.after : "", {
      take: (page) => this.take(page),
      say: (text) => this.say(text),
      lost: () => this.toNewest(),
    });
    this.follower.ended = "ended" in data;
    this.switches = new Switches(this.view, { wrap: this.part("wrap"), times: this.part("times") }, (change) => {
      this.window.hold(change);
      if (this.follows) this.window.toEnd();
    });
    this.listen();
    this.begin(data.at ?? "");
  }

  /** @param {string} name */
  part(name) {
    return /** @type {HTMLElement} */ (this.root.querySelector(`[data-log-${name}]`));
  }

  /** @param {string} name */
  field(name) {
    const field = this.form.elements.namedItem(name);
    return field instanceof HTMLSelectElement || field instanceof HTMLInputElement ? field.value : "";
  }

  rowsInPage() {
    const rows = /** @type {HTMLElement[]} */ ([...this.list.children]);
    for (const time of this.list.querySelectorAll("time")) localise(time);
    for (const mark of this.list.querySelectorAll("mark")) {
      const parent = mark.parentNode;
      mark.replaceWith(...mark.childNodes);
      parent?.normalize();
    }
    return rows;
  }

  listen() {
    this.view.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.view.addEventListener("keydown", (event) => this.pressed(event));
    this.view.addEventListener("click", (event) => this.clicked(event));
    this.followButton.addEventListener("click", () => (this.follows ? this.setFollows(false) : this.toNewest()));
    this.part("new").addEventListener("click", () => this.toNewest());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.find();
    });
    this.form.addEventListener("change", (event) => {
      if (event.target instanceof HTMLSelectElement) this.leave();
    });
    const words = /** @type {HTMLInputElement} */ (this.form.elements.namedItem("q"));
    words.addEventListener("search", () => words.value || this.find());
    words.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.field("q") !== this.search.text && this.find(), TYPING_MS);
    });
    for (const button of this.form.querySelectorAll("[data-log-error]")) {
      button.addEventListener("click", () => this.toError(Number(button.getAttribute("data-log-error"))));
    }
    new ResizeObserver(() => this.follows && this.window.toEnd()).observe(this.view);
  }

  /** @param {string} at */
  begin(at) {
    const found = document.getElementById("log-found-data");
    if (found) {
      this.search.text = this.field("q");
      this.search.show(JSON.parse(found.textContent ?? "{}"), at);
    }
    highlight(this.list, this.field("q"));
    const row = at ? this.rows.get(at) : null;
    if (row) this.window.centre(row);
    else if (found && this.search.hits.length) this.search.step(1);
    else if (this.isAtTip) this.window.toEnd();
    this.show();
    this.root.dataset.state = "ready";
    this.follower.wake();
  }

  /** New lines: into the page when its end is in view, else they wait. @param {Page} page */
  take(page) {
    if (this.follows && this.follower.backlog > BACKLOG) {
      this.detach();
      this.toNewest();
      return;
    }
    const grown = page.grown.filter((row) => !this.grew(row));
    const lines = [...grown, ...page.lines];
    if (!this.follows) this.unseen += lines.length;
    if (this.isAtTip) this.takeBlock(page, lines);
    if (this.follows) this.speaker.hear(page.lines);
    this.noticeAttempt(page.newest);
    this.show();
  }

  /** @param {Page} page @param {import("./log/rows.js").Row[]} lines */
  takeBlock(page, lines) {
    if (!lines.length) {
      (this.waiting.at(-1) ?? this.window.last).after = page.after;
    } else if (this.follows) {
      this.append([this.blockOf({ ...page, lines })]);
      this.window.toEnd();
    } else {
      this.waiting.push(this.blockOf({ ...page, lines }));
      const rows = this.waiting.reduce((sum, one) => sum + one.rows.length, 0);
      // Too many to keep: they are asked for again when somebody scrolls there.
      if (rows > MOST_ROWS) this.detach();
    }
  }

  /** Whether the line was there to become longer. @param {import("./log/rows.js").Row} row */
  grew(row) {
    const li = this.rows.get(row.id);
    if (li) this.window.hold(() => grow(li, row, this.source.address()));
    if (li && this.follows) this.window.toEnd();
    return Boolean(li);
  }

  detach() {
    for (const block of this.waiting) this.forget(block);
    this.waiting = [];
    this.isAtTip = false;
  }

  /** @param {Page} page @returns {Block} */
  blockOf(page) {
    const rows = page.lines.map((line) => {
      const row = rowOf(line, this.source.address());
      this.rows.set(line.id, row);
      return row;
    });
    return { before: page.before, after: page.after, rows };
  }

  /** @param {Block} block */
  forget(block) {
    for (const row of block.rows) if (this.rows.get(row.dataset.id ?? "") === row) this.rows.delete(row.dataset.id ?? "");
  }

  forgetGone() {
    for (const [id, row] of this.rows) {
      if (!row.isConnected && !this.waiting.some((block) => block.rows.includes(row))) this.rows.delete(id);
    }
  }

  /** @param {Block[]} blocks */
  append(blocks) {
    if (this.window.append(blocks)) {
      this.hasOlder = true;
      this.forgetGone();
    }
    highlight(this.list, this.search.text);
  }

  async scrolled() {
    const atEnd = this.window.isAtEnd;
    if (this.follows && !atEnd) this.setFollows(false);
    if (this.view.scrollTop < NEAR) await this.loadOlder();
    const below = this.view.scrollHeight - this.view.scrollTop - this.view.clientHeight;
    if (!this.follows && below < NEAR) await this.loadNewer();
    if (!this.follows && this.window.isAtEnd && this.isAtTip && !this.waiting.length && this.movedDown()) {
      this.setFollows(true);
    }
    this.lastTop = this.view.scrollTop;
  }

  movedDown() {
    return this.view.scrollTop > (this.lastTop ?? this.view.scrollTop);
  }

  async loadOlder() {
    if (this.loading || !this.hasOlder) return;
    const page = await this.load({ before: this.window.first.before, limit: PAGE });
    if (!page) return;
    this.hasOlder = page.older;
    const went = this.window.hold(() => this.window.prepend(this.blockOf(page)));
    if (went) {
      this.detach();
      this.forgetGone();
    }
    highlight(this.list, this.search.text);
    this.show();
    // A line without an end may fill more than one answer.
    if (!page.lines.length && page.older) await this.loadOlder();
  }

  async loadNewer() {
    if (this.waiting.length) {
      const blocks = this.waiting.splice(0);
      this.window.hold(() => this.append(blocks));
      this.unseen = 0;
      this.show();
      return;
    }
    if (this.loading || this.isAtTip) return;
    const page = await this.load({ after: this.window.last.after, limit: PAGE });
    if (!page) return;
    const before = this.window.last.after;
    const lines = [...page.grown.filter((row) => !this.grew(row)), ...page.lines];
    this.window.hold(() => this.append([{ ...this.blockOf({ ...page, lines }), before }]));
    if (!page.newer) this.reachTip(page);
    this.show();
    if (!lines.length && page.newer) await this.loadNewer();
  }

  /** The page ends with the newest line: from here on it is followed. @param {Page} page */
  reachTip(page) {
    this.isAtTip = true;
    this.unseen = 0;
    this.follower.tip = page.after;
    this.follower.ended = page.ended;
    this.follower.wake();
  }

  async toNewest() {
    if (!this.isAtTip) {
      const page = await this.load({ limit: PAGE });
      if (!page) return;
      this.replace(page);
      this.reachTip(page);
    } else if (this.waiting.length) {
      this.append(this.waiting.splice(0));
    }
    this.unseen = 0;
    this.setFollows(true);
    this.window.toEnd();
    this.address("at", "");
  }

  /** Show the line of this id in the middle. @param {string} id */
  async open(id) {
    this.setFollows(false);
    if (!this.rows.get(id)?.isConnected) {
      const page = await this.load({ at: id, limit: "1000" });
      if (!page) return;
      this.replace(page);
      this.waiting = [];
      this.isAtTip = !page.newer;
      if (this.isAtTip) this.reachTip(page);
    }
    for (const row of this.list.querySelectorAll("[aria-current]")) row.removeAttribute("aria-current");
    const row = this.rows.get(id);
    row?.setAttribute("aria-current", "true");
    if (row) this.window.centre(row);
    this.lastTop = this.view.scrollTop;
    this.address("at", id);
    this.show();
  }

  /** @param {Page} page */
  replace(page) {
    this.rows.clear();
    this.waiting = [];
    this.window.replace(this.blockOf(page));
    this.hasOlder = page.older;
    highlight(this.list, this.search.text);
  }

  /** @param {Object<string, string>} question @returns {Promise<Page | null>} */
  async load(question) {
    if (this.loading) return null;
    this.loading = true;
    this.view.setAttribute("aria-busy", "true");
    try {
      return await this.source.ask(question);
    } catch (problem) {
      this.say(problem instanceof Refused ? problem.message : "No connection. Try again in a moment.");
      return null;
    } finally {
      this.loading = false;
      this.view.removeAttribute("aria-busy");
    }
  }

  /** The next error among the lines that are loaded, from the middle of the view. @param {number} by */
  toError(by) {
    const errors = /** @type {HTMLElement[]} */ ([...this.list.querySelectorAll("li.err")]);
    const box = this.view.getBoundingClientRect();
    const middle = box.top + box.height / 2;
    const ordered = by > 0 ? errors : errors.reverse();
    const next = ordered.find((row) => (row.getBoundingClientRect().top - middle) * by > row.offsetHeight);
    const row = next ?? ordered[0];
    if (!row) {
      this.say("No errors in the loaded lines.");
      return;
    }
    this.setFollows(false);
    this.window.centre(row);
  }

  async find() {
    const text = this.field("q");
    this.address("q", text);
    await this.search.run(text);
    highlight(this.list, text);
  }

  /** Another pod or attempt is another page. */
  leave() {
    const fields = new FormData(this.form);
    const given = [...fields].filter(([, value]) => value).map(([name, value]) => [name, String(value)]);
    location.assign(`${location.pathname}?${new URLSearchParams(given)}`);
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "f") this.followButton.click();
    if (event.key === "End" && !this.isAtTip) {
      event.preventDefault();
      this.toNewest();
    }
  }

  /** @param {MouseEvent} event */
  async clicked(event) {
    const link = event.target instanceof Element ? event.target.closest("[data-whole]") : null;
    const li = link?.closest("li");
    if (!li) return;
    event.preventDefault();
    const row = await this.load({ line: li.dataset.id ?? "" });
    if (row) this.window.hold(() => grow(li, { ...row, replaces: true }, this.source.address()));
  }

  /** @param {boolean} follows */
  setFollows(follows) {
    this.follows = follows;
    this.show();
  }

  /** @param {string} name @param {string} value */
  address(name, value) {
    const url = new URL(location.href);
    for (const one of [name, "before", "after"]) url.searchParams.delete(one);
    if (value) url.searchParams.set(name, value);
    history.replaceState(history.state, "", url);
  }

  /** @param {number} newest */
  noticeAttempt(newest) {
    const note = this.part("newer-attempt");
    if (!note.hidden || String(newest) === this.root.dataset.attempt) return;
    const link = document.createElement("a");
    const url = new URL(location.pathname, location.href);
    if (this.field("pod")) url.searchParams.set("pod", this.field("pod"));
    link.href = url.href;
    link.textContent = "Show its log";
    note.replaceChildren(`Attempt ${newest} has started. `, link);
    note.hidden = false;
  }

  /** @param {string} text */
  say(text) {
    this.state = text;
    this.show();
  }

  show() {
    const lines = counted(this.window.size);
    this.view.ariaLabel = `Log output, ${lines}`;
    this.part("count").textContent = `${lines} shown`;
    this.part("state").textContent = this.state || (this.follower.ended && this.isAtTip ? "The log is complete." : "");
    const empty = this.part("empty");
    empty.hidden = this.window.size > 0;
    if (this.follower.ended && !this.follower.refused && !this.hasOlder) {
      empty.textContent = empty.dataset.nothing ?? "";
    }
    this.followButton.hidden = this.follower.ended && this.isAtTip;
    this.followButton.ariaPressed = String(this.follows);
    const isAway = !this.follows && (this.unseen > 0 || !this.isAtTip);
    this.part("new").hidden = !isAway;
    this.part("new-count").textContent = this.unseen ? counted(this.unseen, "new line") : "Newest lines";
  }
}

for (const root of document.querySelectorAll("[data-log]")) new LogView(/** @type {HTMLElement} */ (root));
