/**
 * One live connection per page: WebSocket first, polling when it cannot be had.
 *
 * The server sends deltas between two heads (`from`, `to`, per scope). A frame that does not start
 * where this page stands is answered by asking again from here, so nothing is lost and nothing is
 * applied twice. A frame is acknowledged when it is drawn.
 *
 * @typedef {{type: string, from?: Object<string, number>, to?: Object<string, number>,
 *   items?: {id: string, seq: number, status?: string, cells: Object<string, string>}[],
 *   left?: string[], gone?: string[], new?: number, counts?: Object<string, string>}} Frame
 * @typedef {{feed: string, query: string, since: string, ids: () => string[],
 *   after: Object<string, number>, changesUrl: string, draw: (frame: Frame) => void}} Page
 */
import { Idiomorph } from "../../vendor/idiomorph.js";

const POLL_MS = 5000;
const SILENCE_MS = 25_000;
const HIDDEN_MS = 60_000;
const REFUSED = 4003;

export class Live {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.after = page.after;
    this.failures = 0;
    this.paused = false;
    this.asked = false;
    this.heard = Date.now();
    /** @type {WebSocket | null} */
    this.socket = null;
    this.indicator = document.querySelector("[data-live]");
    this.indicator?.addEventListener("click", () => this.toggle());
    document.addEventListener("visibilitychange", () => this.visibility());
    setInterval(() => this.watch(), 1000);
    this.connect();
  }

  connect() {
    clearTimeout(this.timer);
    if (this.paused || this.stopped || document.hidden) return;
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}/live`);
    this.socket = socket;
    socket.addEventListener("open", () => this.hello());
    socket.addEventListener("message", (event) => this.receive(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => {
      if (this.socket !== socket) return;
      this.socket = null;
      if (event.code === REFUSED) {
        this.stopped = true;
        this.show("offline");
        return;
      }
      this.failures += 1;
      // While asking works, the page is as live as it can be.
      if (!this.asked) this.show(this.failures > 3 ? "offline" : "reconnecting");
      // Full jitter: after a restart of the server, pages must not come back all at once.
      const wait = Math.random() * Math.min(30_000, 1000 * 2 ** this.failures);
      this.timer = setTimeout(() => this.connect(), Math.max(200, wait));
      this.poll();
    });
  }

  /** Say where this page stands; also how it asks again after a gap or after its rows changed. */
  hello() {
    const { feed, query, since, ids } = this.page;
    this.send({ type: "hello", v: 1, feed, query, since, ids: ids(), after: this.after });
  }

  /** @param {object} message */
  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  /** @param {Frame} frame */
  receive(frame) {
    this.heard = Date.now();
    if (frame.type === "welcome") {
      this.failures = 0;
      this.show("live");
    } else if (frame.type === "delta") {
      requestAnimationFrame(() => {
        this.apply(frame);
        this.send({ type: "ack" });
      });
    }
  }

  /** @param {Frame} frame */
  apply(frame) {
    if (this.paused) return;
    const gap = Object.entries(frame.from ?? {}).some(([scope, seq]) => seq > (this.after[scope] ?? 0));
    if (gap) {
      this.hello();
      return;
    }
    this.page.draw(frame);
    for (const [scope, seq] of Object.entries(frame.to ?? {})) {
      this.after[scope] = Math.max(this.after[scope] ?? 0, seq);
    }
  }

  async poll() {
    clearTimeout(this.pollTimer);
    if (this.socket?.readyState === WebSocket.OPEN || this.paused || this.stopped || document.hidden) return;
    const after = Object.entries(this.after).map(([scope, seq]) => `${scope}.${seq}`).join("-");
    const { query, since, ids, changesUrl } = this.page;
    const search = new URLSearchParams({ query, since, ids: ids().join(","), after });
    try {
      const headers = this.tag ? { "If-None-Match": this.tag } : {};
      const answer = await fetch(`${changesUrl}?${search}`, { headers });
      if (answer.redirected || answer.status === 403) {
        this.stopped = true;
        this.show("offline");
        return;
      }
      if (answer.ok) {
        this.tag = answer.headers.get("ETag") ?? "";
        this.apply(await answer.json());
      }
      this.asked = answer.ok || answer.status === 304;
      if (this.asked) this.heard = Date.now();
      this.show(this.asked ? "live" : "offline");
    } catch {
      this.asked = false;
      this.show("offline");
    }
    this.pollTimer = setTimeout(() => this.poll(), POLL_MS);
  }

  toggle() {
    this.paused = !this.paused;
    this.indicator?.setAttribute("aria-pressed", String(this.paused));
    if (this.paused) {
      this.show("paused");
      this.socket?.close(1000);
      this.socket = null;
    } else {
      this.show("reconnecting");
      this.connect();
    }
  }

  visibility() {
    clearTimeout(this.hideTimer);
    if (document.hidden) {
      this.hideTimer = setTimeout(() => {
        this.socket?.close(1000);
        this.socket = null;
      }, HIDDEN_MS);
    } else if (!this.socket) {
      this.connect();
    }
  }

  /** A connection that says nothing for two heartbeats is dead, whatever the browser thinks. */
  watch() {
    if (this.socket?.readyState === WebSocket.OPEN && Date.now() - this.heard > SILENCE_MS) {
      this.heard = Date.now();
      this.socket.close();
    }
  }

  /** @param {"live" | "paused" | "reconnecting" | "offline"} state */
  show(state) {
    if (!(this.indicator instanceof HTMLElement)) return;
    this.indicator.dataset.state = state;
    const since = this.indicator.querySelector("[data-since]");
    if (since && state === "offline") since.textContent = new Date(this.heard).toLocaleTimeString("en-GB");
  }
}

/** Content that arrived while somebody was busy in the place it belongs to. */
const waiting = new Map();

/** What a place was last brought to: most of what arrives is that once more. @type {WeakMap<Element, string>} */
const shown = new WeakMap();

/** What counts as the same element twice: its tag, its attributes and, short of a region, its words. */
const twinOf = (/** @type {ParentNode} */ root, /** @type {Element} */ element) =>
  [...root.querySelectorAll(element.localName)].find(
    (other) =>
      other.cloneNode(false).isEqualNode(element.cloneNode(false)) &&
      (element.matches("[role=region]") || other.textContent === element.textContent),
  );

/**
 * Whether somebody is at work inside `place`. In a cell nothing moves under their hands; in a larger
 * part only what they hold has to be there afterwards.
 * @param {Element} place @param {DocumentFragment} next
 */
const isBusy = (place, next) => {
  if (place.querySelector(":popover-open")) return true;
  const active = document.activeElement;
  if (!active || !place.contains(active)) return false;
  return place.matches("td") || !twinOf(next, active);
};

/** The content without what this page's own clocks write into it. @param {ParentNode} place */
const timeless = (place) => {
  const copy = document.createElement("div");
  copy.append(...[...place.childNodes].map((node) => node.cloneNode(true)));
  for (const clock of copy.querySelectorAll("time[data-relative], [data-running]")) clock.textContent = "";
  for (const element of copy.querySelectorAll("[data-changed]")) element.removeAttribute("data-changed");
  return copy.innerHTML;
};

/** One that still fades goes on: to begin anew would cost a layout of the page for each change. @param {Element} element */
const fade = (element) => element.setAttribute("data-changed", "");

/** @param {Element} place */
const fading = (place) => new Map([...place.querySelectorAll("[data-fade]")].map((one) => [one.getAttribute("data-fade"), timeless(one)]));

/**
 * Change the inside of `place` to `html`, only where it differs; later when somebody is in it.
 * A cell fades as a whole; in a larger part only the [data-fade] elements that differ do.
 * @param {Element} place @param {string} html
 */
export const patch = (place, html) => {
  if (shown.get(place) === html) {
    waiting.delete(place);
    return;
  }
  const probe = document.createElement("template");
  probe.innerHTML = html;
  if (timeless(probe.content) === timeless(place)) {
    waiting.delete(place);
    shown.set(place, html);
    return;
  }
  if (isBusy(place, probe.content)) {
    waiting.set(place, html);
    return;
  }
  waiting.delete(place);
  shown.set(place, html);
  const active = place.contains(document.activeElement) ? document.activeElement : null;
  const before = fading(place);
  Idiomorph.morph(place, html, { morphStyle: "innerHTML", restoreFocus: false });
  if (active && document.activeElement !== active) {
    /** @type {HTMLElement | undefined} */ (twinOf(place, active))?.focus({ preventScroll: true });
  }
  if (place.matches("td")) fade(place);
  for (const one of place.querySelectorAll("[data-fade]")) {
    const known = before.get(one.getAttribute("data-fade"));
    if (known !== undefined && known !== timeless(one)) fade(one);
  }
};

for (const name of ["focusout", "toggle"]) {
  document.addEventListener(
    name,
    () => setTimeout(() => { for (const [place, html] of [...waiting]) patch(place, html); }),
    true,
  );
}

document.addEventListener("animationend", (event) => {
  if (event.target instanceof Element) event.target.removeAttribute("data-changed");
});
