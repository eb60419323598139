/*
 * Tables of every list: selection with ranges and the bulk bar, the order in the column chooser,
 * and keys: / searches, j and k walk, x selects, Enter opens, n makes a new one, ? lists the keys.
 * Everything is delegated: filters replace the rows.
 */

/** @param {Element} root @returns {HTMLInputElement[]} */
const boxesOf = (root) => [...root.querySelectorAll('tbody [name="id"]:not(:disabled)')];

/** @param {Element} form */
const recount = (form) => {
  const list = boxesOf(form);
  const checked = list.filter((box) => box.checked).length;
  const count = form.querySelector("[data-bulk-count]");
  if (count) count.textContent = `${checked} selected`;
  const all = /** @type {HTMLInputElement | null} */ (form.querySelector("[data-select-page]"));
  if (all) {
    all.checked = checked > 0 && checked === list.length;
    all.indeterminate = checked > 0 && checked < list.length;
  }
};

/** @type {HTMLInputElement | null} */
let last = null;
document.addEventListener("click", (event) => {
  const box = event.target;
  if (!(box instanceof HTMLInputElement) || box.name !== "id") return;
  const form = box.closest("[data-rows]");
  if (!form) return;
  if (event.shiftKey && last?.isConnected) {
    const list = boxesOf(form);
    const [from, to] = [list.indexOf(last), list.indexOf(box)].sort((a, b) => a - b);
    for (const between of list.slice(from, to + 1)) between.checked = box.checked;
  }
  last = box;
  recount(form);
});
document.addEventListener("change", (event) => {
  const all = event.target;
  if (!(all instanceof HTMLInputElement) || !all.matches("[data-select-page]")) return;
  const form = all.closest("[data-rows]");
  if (!form) return;
  for (const box of boxesOf(form)) box.checked = all.checked;
  recount(form);
});
document.addEventListener("reset", (event) => {
  if (event.target instanceof Element && event.target.matches("[data-rows]")) setTimeout(recount, 0, event.target);
});
document.addEventListener("gangline:rows", () => {
  for (const form of document.querySelectorAll("[data-rows]")) recount(form);
});

/* The chosen pill is in sight on a phone. */
const showPill = () => document.querySelector(".pills [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
showPill();
document.addEventListener("htmx:afterSettle", showPill);

/* Up and down in the chooser move the entry at once; without scripts they send the form. */
document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-chooser] button[name]") : null;
  if (!(button instanceof HTMLButtonElement)) return;
  event.preventDefault();
  const item = button.closest("li");
  const other = button.name === "up" ? item?.previousElementSibling : item?.nextElementSibling;
  if (!item || !other) return;
  if (button.name === "up") other.before(item);
  else other.after(item);
  button.focus();
});

/** @param {KeyboardEvent} event */
const isTyping = (event) =>
  event.ctrlKey || event.metaKey || event.altKey || !(event.target instanceof Element) ||
  event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable], dialog, [popover]:popover-open") !== null;

/** @param {number} step */
const walk = (step) => {
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-rows] tbody tr")]);
  const here = rows.findIndex((row) => row.contains(document.activeElement));
  const row = rows[Math.min(Math.max(here + step, 0), rows.length - 1)];
  /** @type {HTMLElement | null} */ (row?.querySelector("a.name"))?.focus();
};

const KEYS = {
  "/": () => /** @type {HTMLElement | null} */ (document.getElementById("table-search"))?.focus(),
  j: () => walk(1),
  k: () => walk(-1),
  x: () => /** @type {HTMLElement | null} */ (document.activeElement?.closest("tr")?.querySelector('[name="id"]'))?.click(),
  n: () => /** @type {HTMLElement | null} */ (document.querySelector('[data-key="n"]'))?.click(),
  "?": () => /** @type {HTMLDialogElement | null} */ (document.getElementById("table-keys"))?.showModal(),
};
document.addEventListener("keydown", (event) => {
  const key = KEYS[/** @type {keyof KEYS} */ (event.key)];
  if (!key || isTyping(event) || !document.querySelector("[data-table]")) return;
  event.preventDefault();
  key();
});
