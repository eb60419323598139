const { Idiomorph } = (() => {
/* idiomorph 0.8.0, 0BSD, see THIRD_PARTY.md */
var Idiomorph=function(){"use strict";const e=()=>{};const n={morphStyle:"outerHTML",callbacks:{beforeNodeAdded:e,afterNodeAdded:e,beforeNodeMorphed:e,afterNodeMorphed:e,beforeNodeRemoved:e,afterNodeRemoved:e,beforeAttributeUpdated:e},head:{style:"merge",shouldPreserve:e=>e.getAttribute("im-preserve")==="true",shouldReAppend:e=>e.getAttribute("im-re-append")==="true",shouldRemove:e,afterHeadMorphed:e},restoreFocus:true};function t(e,t,n={}){const o=u(e);const r=f(t);const i=d(o,r,n);return c(i,o,r,e=>{const t=a(e,()=>{if(e.morphStyle==="innerHTML"){s(e,o,r);return Array.from(o.childNodes)}else{return l(e,o,r)}});e.pantry.remove();return t})}function l(e,t,n){const o=f(t);s(e,o,n,t,t.nextSibling);return Array.from(o.childNodes)}function a(e,t){if(!e.config.restoreFocus)return t();let n=e.doc.activeElement;if(!(g.inputElement(n)||g.textAreaElement(n))){return t()}const{id:o,selectionStart:r,selectionEnd:i}=n;const l=t();if(o&&o!==e.doc.activeElement?.getAttribute("id")){n=e.target.querySelector(`[id="${CSS.escape(o)}"]`);n?.focus()}if(n&&!n.selectionEnd&&i){try{n.setSelectionRange(r,i)}catch{}}return l}const s=function(){function e(e,t,n,o=null,r=null){if(g.templateElement(t)&&g.templateElement(n)){t=t.content;n=n.content}o||=t.firstChild;for(const i of n.childNodes){if(o&&o!=r){const a=f(e,i,o,r);if(a){if(a!==o){m(e,o,a)}b(a,i,e);o=a.nextSibling;continue}}if(g.element(i)){const s=i.getAttribute("id");if(e.persistentIds.has(s)){const c=p(t,s,o,e);b(c,i,e);o=c.nextSibling;continue}}const l=u(t,i,o,e);if(l){o=l.nextSibling}}while(o&&o!=r){const d=o;o=o.nextSibling;h(e,d)}}function u(e,t,n,o){if(o.callbacks.beforeNodeAdded(t)===false)return null;if(o.idMap.has(t)){const r=o.doc.createElementNS(t.namespaceURI,t.localName);e.insertBefore(r,n);b(r,t,o);o.callbacks.afterNodeAdded(r);return r}else{const i=o.doc.importNode(t,true);e.insertBefore(i,n);o.callbacks.afterNodeAdded(i);return i}}const f=function(){function e(e,t,n,o){let r=null;let i=t.nextSibling;let l=0;let a=n;while(a&&a!=o){if(c(a,t)){if(s(e,a,t)){return a}if(r===null){if(!e.idMap.has(a)){r=a}}}if(r===null&&i&&c(a,i)){l++;i=i.nextSibling;if(l>=2){r=undefined}}if(e.activeElementAndParents.includes(a))break;a=a.nextSibling}return r||null}function s(e,t,n){let o=e.idMap.get(t);let r=e.idMap.get(n);if(!r||!o)return false;for(const i of o){if(r.has(i)){return true}}return false}function c(e,t){const n=e;const o=t;return n.nodeType===o.nodeType&&n.tagName===o.tagName&&(!n.getAttribute?.("id")||n.getAttribute?.("id")===o.getAttribute?.("id"))}return e}();function h(e,t){if(t===e.pantry)return;if(e.idMap.has(t)){a(e.pantry,t,null)}else{if(e.callbacks.beforeNodeRemoved(t)===false)return;t.parentNode?.removeChild(t);e.callbacks.afterNodeRemoved(t)}}function m(t,e,n){let o=e;while(o&&o!==n){let e=o;o=o.nextSibling;h(t,e)}return o}function p(e,t,n,o){const r=`[id="${CSS.escape(t)}"]`;const i=o.target.getAttribute?.("id")===t&&o.target||o.target.querySelector(r)||o.pantry.querySelector(r);l(i,o);a(e,i,n);return i}function l(t,n){const o=t.getAttribute("id");while(t=t.parentNode){let e=n.idMap.get(t);if(e){e.delete(o);if(!e.size){n.idMap.delete(t)}}}}function a(t,n,o){if(t.moveBefore){try{t.moveBefore(n,o)}catch(e){t.insertBefore(n,o)}}else{t.insertBefore(n,o)}}return e}();const b=function(){function e(e,t,n){if(n.ignoreActive&&e===n.doc.activeElement){return null}if(n.callbacks.beforeNodeMorphed(e,t)===false){return e}if(g.headElement(e)&&n.head.style==="none"){}else if(g.headElement(e)&&n.head.style!=="morph"){h(e,t,n)}else{o(e,t,n);if(!f(e,n)){s(n,e,t)}}n.callbacks.afterNodeMorphed(e,t);return e}function o(e,t,n){let o=t.nodeType;if(o===1){const r=e;const i=t;const l=r.attributes;const a=i.attributes;for(const s of a){if(r.getAttribute(s.name)===s.value){continue}if(u(s.name,r,"update",n)){continue}r.setAttributeNode(s.cloneNode())}for(let e=l.length-1;0<=e;e--){const c=l[e];if(!c)continue;if(!i.hasAttribute(c.name)){if(u(c.name,r,"remove",n)){continue}r.removeAttribute(c.name)}}if(!f(r,n)){d(r,i,n)}}if(o===8||o===3){if(e.nodeValue!==t.nodeValue){e.nodeValue=t.nodeValue}}}function d(n,o,r){if(g.inputElement(n)&&g.inputElement(o)&&o.type!=="file"){let e=o.value;let t=n.value;i(n,o,"checked",r);i(n,o,"disabled",r);if(!o.hasAttribute("value")){if(!u("value",n,"remove",r)){n.value="";n.removeAttribute("value")}}else if(t!==e){if(!u("value",n,"update",r)){n.setAttribute("value",e);n.value=e}}}else if(g.optionElement(n)&&g.optionElement(o)){i(n,o,"selected",r)}else if(g.textAreaElement(n)&&g.textAreaElement(o)){let e=o.value;let t=n.value;if(u("value",n,"update",r)){return}if(e!==t){n.value=e}if(n.firstChild&&n.firstChild.nodeValue!==e){n.firstChild.nodeValue=e}}}function i(e,t,n,o){const r=t[n],i=e[n];if(r!==i){const l=u(n,e,"update",o);if(!l){e[n]=t[n]}if(r){if(!l){e.setAttribute(n,"")}}else{if(!u(n,e,"remove",o)){e.removeAttribute(n)}}}}function u(e,t,n,o){if(e==="value"&&o.ignoreActiveValue&&t===o.doc.activeElement){return true}return o.callbacks.beforeAttributeUpdated(e,t,n)===false}function f(e,t){return!!t.ignoreActiveValue&&e===t.doc.activeElement&&e!==t.doc.body}return e}();function c(t,e,n,o){if(t.head.block&&t.head.style!=="none"){const r=e.querySelector("head");const i=n.querySelector("head");if(r&&i){const l=h(r,i,t);return Promise.all(l).then(()=>{const e=Object.assign(t,{head:{block:false,style:"none"}});return o(e)})}}return o(t)}function h(e,t,o){let r=[];let i=[];let l=[];let a=[];let s=new Map;for(const n of t.children){s.set(n.outerHTML,n)}for(const d of e.children){let e=s.has(d.outerHTML);let t=o.head.shouldReAppend(d);let n=o.head.shouldPreserve(d);if(e||n){if(t){i.push(d)}else{s.delete(d.outerHTML);l.push(d)}}else{if(o.head.style==="append"){if(t){i.push(d);a.push(d)}}else{if(o.head.shouldRemove(d)!==false){i.push(d)}}}}a.push(...s.values());let c=[];for(const u of a){let n=o.doc.createRange().createContextualFragment(u.outerHTML).firstChild;if(o.callbacks.beforeNodeAdded(n)!==false){if("href"in n&&n.href||"src"in n&&n.src){let t;let e=new Promise(function(e){t=e});n.addEventListener("load",function(){t()});c.push(e)}e.appendChild(n);o.callbacks.afterNodeAdded(n);r.push(n)}}for(const f of i){if(o.callbacks.beforeNodeRemoved(f)!==false){e.removeChild(f);o.callbacks.afterNodeRemoved(f)}}o.head.afterHeadMorphed(e,{added:r,kept:l,removed:i});return c}const d=function(){function e(e,t,n){const{persistentIds:o,idMap:r}=f(e,t);const i=c(n);const l=i.morphStyle||"outerHTML";if(!["innerHTML","outerHTML"].includes(l)){throw`Do not understand how to morph style ${l}`}if(l==="innerHTML"&&!e.append){throw`Cannot morph the innerHTML of a ${e.nodeName} node, as it cannot have children`}const a=i.head.style||"merge";if(!["merge","append","morph","none"].includes(a)){throw`Do not understand how to morph head style ${a}`}const s=e.ownerDocument;return{target:e,newContent:t,doc:s,config:i,morphStyle:l,ignoreActive:i.ignoreActive,ignoreActiveValue:i.ignoreActiveValue,restoreFocus:i.restoreFocus,idMap:r,persistentIds:o,pantry:d(s),activeElementAndParents:u(e,s),callbacks:i.callbacks,head:i.head}}function c(e){let t=Object.assign({},n);Object.assign(t,e);t.callbacks=Object.assign({},n.callbacks,e.callbacks);t.head=Object.assign({},n.head,e.head);return t}function d(e){const t=e.createElement("div");t.hidden=true;e.documentElement.append(t);return t}function u(e,t){let n=[];let o=t.activeElement;if(o?.tagName!=="BODY"&&e.contains(o)){while(o){n.push(o);if(o===e)break;o=o.parentElement}}return n}function a(e){let t=[];const n=e;for(const r of n.querySelectorAll?.("[id]")??[]){const i=r.getAttribute("id");if(i)t.push({elt:r,id:i})}const o=n.getAttribute?.("id");if(o)t.push({elt:e,id:o});return t}function s(n,e,o,t){for(const{elt:r,id:i}of t){if(e.has(i)){let t=r;while(t){let e=n.get(t);if(e==null){e=new Set;n.set(t,e)}e.add(i);if(t===o)break;t=t.parentElement}}}}function f(e,t){const n=a(e);const o=a(t);const r=h(n,o);let i=new Map;s(i,r,e,n);const l=t.__idiomorphRoot||t;s(i,r,l,o);return{persistentIds:r,idMap:i}}function h(e,t){let n=new Set;let o=new Map;for(const{elt:i,id:l}of e){if(o.has(l)){n.add(l)}else{o.set(l,i.tagName)}}let r=new Set;for(const{elt:i,id:l}of t){if(r.has(l)){n.add(l)}else if(o.get(l)===i.tagName){r.add(l)}}for(const l of n){r.delete(l)}if(n.size){console.warn("[Warning] duplicate ids found during morph, state loss within these elements is possible:",Array.from(n))}return r}return e}();const{normalizeElement:u,normalizeParent:f}=function(){const r=new WeakSet;function e(e){if(g.document(e)){return e.documentElement}else{return e}}function o(e){if(e==null){return document.createElement("div")}else if(typeof e==="string"){return o(l(e))}else if(r.has(e)){return e}else if(g.node(e)){if(e.parentNode){return new i(e)}else{const t=document.createElement("div");t.append(e);return t}}else{const t=document.createElement("div");for(const n of[...e]){t.append(n)}return t}}class i{constructor(e){this.originalNode=e;this.realParentNode=e.parentNode;this.previousSibling=e.previousSibling;this.nextSibling=e.nextSibling}get childNodes(){const e=[];let t=this.previousSibling?this.previousSibling.nextSibling:this.realParentNode.firstChild;while(t&&t!=this.nextSibling){e.push(t);t=t.nextSibling}return e}querySelectorAll(o){return this.childNodes.reduce((t,e)=>{if(g.element(e)){if(e.matches(o))t.push(e);const n=e.querySelectorAll(o);for(let e=0;e<n.length;e++){t.push(n[e])}}return t},[])}insertBefore(e,t){return this.realParentNode.insertBefore(e,t)}moveBefore(e,t){return this.realParentNode.moveBefore(e,t)}get __idiomorphRoot(){return this.originalNode}}function l(n){let o=new DOMParser;let e=n.replace(/<svg(\s[^>]*>|>)([\s\S]*?)<\/svg>/gim,"");if(e.match(/<\/html>/)||e.match(/<\/head>/)||e.match(/<\/body>/)){let t=o.parseFromString(n,"text/html");t.doctype?.remove();if(e.match(/<\/html>/)){r.add(t);return t}else{let e=t.firstChild;if(e){r.add(e)}return e}}else{let e=o.parseFromString("<body><template>"+n+"</template></body>","text/html");let t=e.body.querySelector("template").content;r.add(t);return t}}return{normalizeElement:e,normalizeParent:o}}();const g=function(){const n=e=>e instanceof Element||e?.nodeType===Node.ELEMENT_NODE;const t=(e,t)=>n(e)&&e.localName===t&&e.namespaceURI==="http://www.w3.org/1999/xhtml";return{element:n,node:e=>e instanceof Node||typeof e?.nodeType==="number",document:e=>e instanceof Document||e?.nodeType===Node.DOCUMENT_NODE,templateElement:e=>t(e,"template"),headElement:e=>t(e,"head"),inputElement:e=>t(e,"input"),optionElement:e=>t(e,"option"),textAreaElement:e=>t(e,"textarea")}}();return{morph:t,defaults:n}}();
return { Idiomorph };
})();
const { Live, patch } = (() => {
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

const POLL_MS = 5000;
const SILENCE_MS = 25_000;
const HIDDEN_MS = 60_000;
const REFUSED = 4003;

class Live {
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
const patch = (place, html) => {
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
return { Live, patch };
})();
{
/** The live parts of one workload's pages: what is equal stays untouched. */

const main = /** @type {HTMLElement} */ (document.querySelector("[data-live-page]"));
const said = document.querySelector("[data-live-said]");
const after = JSON.parse(document.getElementById("live-after")?.textContent ?? "{}");
let seq = 0;
let status = main.dataset.status ?? "";
const RUNS = new Set(["Initializing", "Running", "Degraded", "Stopping"]);

new Live({
  feed: "workload",
  query: main.dataset.query ?? "",
  since: "",
  ids: () => [],
  after,
  changesUrl: main.dataset.changes ?? "",
  draw: (frame) => {
    for (const item of frame.items ?? []) {
      if (item.seq <= seq) continue;
      seq = item.seq;
      for (const [name, html] of Object.entries(item.cells)) {
        for (const place of document.querySelectorAll(`[data-part="${name}"]`)) patch(place, html);
      }
      if (item.status && item.status !== status) {
        status = item.status;
        main.dataset.status = status;
        if (said) said.textContent = `${status}.`;
      }
      document.dispatchEvent(new CustomEvent("gangline:workload", { detail: { status } }));
    }
    if (frame.gone?.length) location.assign("/workloads");
  },
});

/** Figures grow without a change of the workload: while it runs, they are asked for. */
const FIGURES_MS = 5000;
let askAfter = 0;
const figures = main.dataset.figures;
let isAsking = false;

const askFigures = async () => {
  if (isAsking || Date.now() < askAfter || document.hidden || document.querySelector('[data-live][data-state="paused"]')) return;
  isAsking = true;
  try {
    const answer = await fetch(`${figures}?query=${encodeURIComponent(main.dataset.query ?? "")}`, { signal: AbortSignal.timeout(FIGURES_MS * 4) });
    if (answer.status !== 200) return;
    const { cells, pause } = /** @type {{cells: Object<string, string>, pause: number}} */ (await answer.json());
    // As long as the server wants; a little less, for the clock ticks in whole pauses.
    askAfter = Date.now() + pause - FIGURES_MS / 2;
    for (const [name, html] of Object.entries(cells)) {
      for (const place of document.querySelectorAll(`[data-part="${name}"]`)) patch(place, html);
    }
  } catch {
    // The live connection says that the server is away.
  } finally {
    isAsking = false;
  }
};

if (figures) setInterval(() => { if (RUNS.has(status)) askFigures(); }, FIGURES_MS);
}
{
/** What goes on grows once a second: the strips of the attempts, and how long their last stretch takes. */
const TRACK = 1000;
const SLIVER = 8;

/** As gangline.web.formats.span. @param {number} seconds */
const span = (seconds) => {
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  if (seconds < 1) return "under 1 s";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return seconds % 60 ? `${Math.floor(seconds / 60)} min ${seconds % 60} s` : `${seconds / 60} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} min`;
  const hours = Math.floor((seconds % 86_400) / 3600);
  return `${Math.floor(seconds / 86_400)} d${hours ? ` ${two(hours)} h` : ""}`;
};

/** @param {Element} place @param {string} name */
const at = (place, name) => Date.parse(place.getAttribute(name) ?? "");

/** How long it takes, or has taken until now. @param {Element} place @param {string} from @param {string} to */
const length = (place, from, to) => Math.max((place.hasAttribute(to) ? at(place, to) : Date.now()) - at(place, from), 0);

/** As workloads.parts: all strips begin at the left, on one scale. @param {Element} line @param {number} longest */
const draw = (line, longest) => {
  const bars = [...line.querySelectorAll("rect[data-from]")];
  const widths = bars.map((bar) => Math.max(Math.round((length(bar, "data-from", "data-to") / longest) * TRACK), SLIVER));
  const over = widths.reduce((sum, width) => sum + width, 0) - TRACK;
  widths[widths.indexOf(Math.max(...widths))] -= Math.max(over, 0);
  let x = 0;
  bars.forEach((bar, number) => {
    bar.setAttribute("x", String(x));
    bar.setAttribute("width", String(widths[number]));
    x += widths[number];
  });
  const end = line.querySelector("rect[data-end]");
  end?.setAttribute("x", String(x - Number(end.getAttribute("width"))));
  for (const place of line.querySelectorAll("[data-grows]")) {
    const text = span(Math.floor(length(place, "data-grows", "") / 1000));
    if (place.textContent !== text) place.textContent = text;
  }
};

/** @param {Element} all */
const drawAll = (all) => {
  const lines = [...all.querySelectorAll("[data-timeline]")];
  if (lines.every((line) => line.hasAttribute("data-ends"))) return;
  const longest = Math.max(...lines.map((line) => length(line, "data-begins", "data-ends")), 1);
  for (const line of lines) draw(line, longest);
  const scale = all.querySelector("[data-longest]");
  if (scale) scale.textContent = span(Math.floor(longest / 1000));
};

setInterval(() => {
  if (document.hidden || document.querySelector('[data-live][data-state="paused"]')) return;
  for (const all of document.querySelectorAll("[data-timelines]")) drawAll(all);
}, 1000);
}
