/*
 * <draft-autosave> around the form of a step: saves what is typed 600 ms after the last change, when
 * a field is left and when the page is hidden or left. Until the server has it, the text is kept in this
 * tab and saving is tried again. Without scripts every button of the form saves as well.
 */
import { mend } from "./draft/apply.js";
import { refresh, show, showErrors } from "./draft/drawing.js";
import { explain } from "./draft/explain.js";
import { orderable } from "./draft/order.js";
import "./draft/file.js";
import { dryRun } from "./draft/dry_run.js";
import { tab } from "./draft/tab.js";
import { bringBack, forget, keep } from "./draft/unsaved.js";
import "./draft/search.js";
import "./draft/yaml.js";

const WAIT_MS = 600;
const RETRY_MS = [1000, 2000, 4000, 8000];
/** A request that outlives its page may hold 64 KiB. */
const MOST_KEPT_ALIVE = 60_000;

class DraftAutosave extends HTMLElement {
  /** @type {Promise<void> | null} */ saving = null;
  changed = false;
  stopped = false;
  failures = 0;
  /** @type {Record<string, string>} */ errors = {};
  timer = 0;

  connectedCallback() {
    this.addEventListener("input", () => this.touch(WAIT_MS));
    this.addEventListener("change", (event) => this.onChange(/** @type {HTMLElement} */ (event.target)));
    this.addEventListener("focusout", () => {
      if (this.changed) this.touch(0);
      // The field that was left may show its error now; the next one has the focus by then.
      else setTimeout(() => showErrors(this, this.errors));
    });
    this.addEventListener("click", (event) => this.onClick(event));
    orderable(this, () => this.touch(0));
    this.addEventListener("submit", (event) => this.onSubmit(/** @type {SubmitEvent} */ (event)));
    document.addEventListener("visibilitychange", () => document.hidden && this.flush());
    window.addEventListener("pagehide", () => this.flush());
    window.addEventListener("online", () => this.changed && this.save());
    window.addEventListener("beforeunload", (event) => {
      // A reload asks for the new page before this one is hidden.
      this.flush();
      if (this.failures && this.changed) event.preventDefault();
    });
    // A page that answered a refused step: coming back to it asks for it anew instead of sending again.
    // It keeps what is wrong at the fields, also after a reload.
    if (this.form.hasAttribute("data-refused")) {
      const address = new URL(location.href);
      address.searchParams.set("check", "1");
      history.replaceState(null, "", address);
    }
    this.stamp();
    this.focusOn(this.form.dataset.focus ?? "");
    // Once it is loaded the browser itself goes to what the address names.
    if (location.hash) window.addEventListener("load", () => setTimeout(() => this.focusOnChosen()));
    bringBack(this.form);
    if (this.querySelector("[data-dry-run]")) dryRun(this);
  }

  /** @returns {HTMLFormElement} */
  get form() {
    return /** @type {HTMLFormElement} */ (this.querySelector("form"));
  }

  /** The hidden field of native submits. */
  stamp() {
    /** @type {HTMLInputElement} */ (this.form.elements.namedItem("_tab")).value = tab();
  }

  /** @param {number} wait */
  touch(wait) {
    this.changed = true;
    clearTimeout(this.timer);
    if (!this.stopped) this.timer = setTimeout(() => this.save(), wait);
  }

  /** @param {HTMLElement} target */
  onChange(target) {
    const revealed = target.dataset.reveals && document.getElementById(target.dataset.reveals);
    if (revealed) revealed.hidden = !(/** @type {HTMLInputElement} */ (target).checked);
    if (target.matches("[data-applies]")) mend(this, "apply");
    else this.touch(0);
  }

  /** @param {Event} event */
  onClick(event) {
    if (!(event.target instanceof Element)) return;
    const opener = event.target.closest("[data-explain], [data-opens]");
    if (!(opener instanceof HTMLButtonElement)) return;
    event.preventDefault();
    explain(this, opener);
  }

  /** @param {SubmitEvent} event */
  async onSubmit(event) {
    const button = /** @type {HTMLButtonElement | null} */ (event.submitter);
    clearTimeout(this.timer);
    if (button?.matches("[data-apply]")) {
      event.preventDefault();
      mend(this, button.value);
    } else if (button?.getAttribute("aria-disabled") === "true") {
      event.preventDefault();
    } else if (button?.matches("[data-dry-run-now]")) {
      event.preventDefault();
      dryRun(this);
    } else if (this.saving) {
      // An older save must not reach the server after this one.
      event.preventDefault();
      await this.saving;
      this.form.requestSubmit(button);
    } else {
      this.changed = false;
      forget();
      const words = button?.dataset.busy;
      if (button && words) {
        button.setAttribute("aria-disabled", "true");
        this.show("saving", words);
        setTimeout(() => (button.textContent = words));
      }
    }
  }

  save() {
    clearTimeout(this.timer);
    if (this.stopped) return Promise.resolve();
    if (this.saving) return this.saving.then(() => (this.changed ? this.save() : undefined));
    this.changed = false;
    this.show("saving", "Saving…");
    this.saving = this.send().finally(() => (this.saving = null));
    return this.saving;
  }

  /** The page is hidden or left: nothing may wait any longer. */
  flush() {
    if (!this.changed && !this.saving) return;
    keep(this.body("autosave"));
    if (this.stopped || !this.changed) return;
    if (!this.saving) this.save();
    else this.post(this.body("autosave")).catch(() => {});
  }

  /** The form as it is now. @param {string} go */
  body(go) {
    const body = new FormData(this.form);
    body.set("_go", go);
    body.set("_tab", tab());
    return body;
  }

  /** Send it so that it arrives also when the page is left meanwhile. @param {FormData} form */
  post(form) {
    const texts = new URLSearchParams(/** @type {[string, string][]} */ ([...form]));
    const keepalive = texts.toString().length < MOST_KEPT_ALIVE;
    return fetch(location.href.split("#")[0], { method: "POST", body: keepalive ? texts : form, keepalive });
  }

  async send() {
    try {
      const sent = this.body("autosave");
      const answer = await this.post(sent);
      const json = answer.headers.get("Content-Type")?.startsWith("application/json");
      if (!json) throw new Error(`answer ${answer.status}`);
      const data = await answer.json();
      if (answer.status === 409) this.conflict(data.conflict);
      else if (answer.ok) this.done(data, sent);
      else throw new Error(`answer ${answer.status}`);
    } catch {
      this.failed();
    }
  }

  /** @param {{saved: string, version: number, summary: string, values: Record<string, import("./draft/drawing.js").Value>, echoes: Record<string, string>, errors: Record<string, string>, problems: string, chips: Record<string, string>}} data @param {FormData} sent */
  done(data, sent) {
    this.errors = data.errors;
    this.failures = 0;
    if (!this.changed) forget();
    this.show("saved", `Saved ${data.saved}`);
    const version = /** @type {HTMLInputElement} */ (this.form.elements.namedItem("_version"));
    version.value = String(data.version);
    refresh(this, data, sent);
    if (this.changed) this.touch(WAIT_MS);
  }

  failed() {
    this.changed = true;
    this.show("failed", "Not saved – trying again (your text is kept in this tab)");
    const wait = RETRY_MS[Math.min(this.failures, RETRY_MS.length - 1)];
    this.failures += 1;
    this.timer = setTimeout(() => this.save(), wait);
  }

  /** @param {string} html */
  conflict(html) {
    this.stopped = true;
    this.changed = true;
    this.show("failed", "Not saved");
    if (this.querySelector("[data-conflict]")) return;
    this.querySelector(".stack")?.insertAdjacentHTML("afterbegin", html);
  }

  /** @param {"saving" | "saved" | "failed"} state @param {string} words */
  show(state, words) {
    show(state, words);
  }

  /** Whoever comes back to a gallery, as after making a card for it, is at the card that is chosen. */
  focusOnChosen() {
    const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const chosen = place?.closest("fieldset")?.querySelector("input:checked");
    if (chosen instanceof HTMLInputElement) chosen.focus();
  }

  /** @param {string} id */
  focusOn(id) {
    if (id) document.getElementById(id)?.focus();
  }
}

customElements.define("draft-autosave", DraftAutosave);
