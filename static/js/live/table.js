/**
 * Live cells of a table. Rows are never replaced or moved by themselves; only what changed inside a
 * cell is. New rows wait behind a button; rows that left the filter are greyed, deleted ones struck.
 */
import { Idiomorph } from "../../vendor/idiomorph.js";
import { Live, patch } from "./connection.js";

const SAY_MS = 20_000;
const said = document.querySelector("[data-live-said]");
const findTable = () => /** @type {HTMLTableElement} */ (document.querySelector("[data-live-table]"));
const findNewcomers = () => /** @type {HTMLElement | null} */ (document.querySelector("[data-newcomers]"));
const readAfter = () => JSON.parse(document.getElementById("live-after")?.textContent ?? "{}");
let table = findTable();
/** @type {Map<string, HTMLTableRowElement>} */
const rows = new Map();
const recount = () => document.dispatchEvent(new CustomEvent("gangline:rows"));
const readRows = () => {
  table = findTable();
  rows.clear();
  for (const row of table.querySelectorAll("tr[data-id]")) {
    rows.set(/** @type {HTMLTableRowElement} */ (row).dataset.id ?? "", /** @type {HTMLTableRowElement} */ (row));
  }
};
readRows();

/** A word beside the name that no update of the cell touches. @param {HTMLTableRowElement} row @param {string} text */
const label = (row, text) => {
  const cell = /** @type {HTMLElement | null} */ (row.querySelector('[data-col="name"]'));
  if (!cell) return;
  if (text) cell.dataset.label = text;
  else delete cell.dataset.label;
};

/** What is gone says that alone, and its time stands still. @param {HTMLTableRowElement} row */
const finish = (row) => {
  const cell = row.querySelector('td[data-col="status"]');
  cell?.querySelector(".status-reason")?.remove();
  const word = cell?.querySelector(".status")?.lastChild;
  if (word) word.textContent = "Deleted";
  row.querySelector("[data-running]")?.removeAttribute("data-running");
};

/** The foot agrees with the pills: what is gone or left is not counted in either. */
const tellShown = () => {
  const shown = /** @type {HTMLElement | null} */ (document.querySelector("[data-shown]"));
  const range = shown?.querySelector("[data-range]");
  const total = shown?.querySelector("[data-total]");
  const counted = document.querySelector('[data-pill][aria-current="true"] b')?.textContent;
  if (!shown || !range || !total || !counted) return;
  const here = [...rows.values()].filter((row) => !row.matches("[data-gone], [data-left]")).length;
  const first = Number(shown.dataset.first);
  range.textContent = here === 1 ? `${first}` : `${Math.min(first, first + here - 1)}–${first + here - 1}`;
  total.textContent = counted;
};

/** Words for a screen reader, gathered: never row by row. */
const ended = { Completed: 0, Failed: 0, Stopped: 0 };
let lastSaid = 0;
const speak = () => {
  if (!said || Date.now() - lastSaid < SAY_MS) return;
  const parts = Object.entries(ended).filter(([, count]) => count).map(([status, count]) => `${count} ${status.toLowerCase()}`);
  if (!parts.length) return;
  lastSaid = Date.now();
  said.textContent = `${parts.join(", ")}.`;
  for (const status of Object.keys(ended)) ended[/** @type {keyof ended} */ (status)] = 0;
};
setInterval(speak, 1000);

/* A reload would call off the way to where somebody's press leads. */
let isLeaving = false;
document.addEventListener("submit", () => { isLeaving = true; });
addEventListener("pageshow", () => { isLeaving = false; });

/** @param {number} count */
const inWords = (count) => `${count > 100 ? "100+" : count} new ${count === 1 ? "workload" : "workloads"}`;

/** @param {import("./connection.js").Frame} frame */
const draw = (frame) => {
  for (const item of frame.items ?? []) {
    const row = rows.get(item.id);
    if (!row || Number(row.dataset.seq) >= item.seq) continue;
    row.dataset.seq = String(item.seq);
    if (item.status && item.status !== row.dataset.status) {
      row.dataset.status = item.status;
      if (item.status in ended) ended[/** @type {keyof ended} */ (item.status)] += 1;
    }
    for (const [column, html] of Object.entries(item.cells)) {
      const cell = row.querySelector(`td[data-col="${column}"]`);
      if (cell) patch(cell, html);
    }
    if (row.hasAttribute("data-left") && !frame.left?.includes(item.id)) {
      row.removeAttribute("data-left");
      label(row, "");
    }
  }
  for (const id of frame.left ?? []) {
    const row = rows.get(id);
    if (!row || row.hasAttribute("data-left")) continue;
    row.setAttribute("data-left", "");
    label(row, "No longer matches");
  }
  for (const id of frame.gone ?? []) {
    const row = rows.get(id);
    if (!row || row.hasAttribute("data-gone")) continue;
    row.removeAttribute("data-left");
    row.setAttribute("data-gone", "");
    label(row, "");
    finish(row);
    for (const box of row.querySelectorAll("input, button")) {
      /** @type {HTMLInputElement} */ (box).disabled = true;
      if (box instanceof HTMLInputElement) box.checked = false;
    }
    recount();
  }
  const newcomers = findNewcomers();
  if (frame.new !== undefined && newcomers) {
    newcomers.hidden = frame.new === 0;
    const words = newcomers.querySelector("span");
    if (words) words.textContent = `${inWords(frame.new)} – show`;
  } else if (frame.new && !isLeaving) {
    // The page of the empty product: nothing on it can be lost.
    location.reload();
  }
  for (const [pill, count] of Object.entries(frame.counts ?? {})) {
    const place = document.querySelector(`[data-pill="${pill}"] b`);
    if (place && place.textContent !== count) place.textContent = count;
  }
  if (frame.counts || frame.left?.length || frame.gone?.length) tellShown();
};

const live = new Live({
  feed: "workloads",
  query: table.dataset.query ?? "",
  since: table.dataset.since ?? "",
  ids: () => [...rows.keys()],
  after: readAfter(),
  changesUrl: "/workloads/changes",
  draw,
});

/* A filter has replaced the rows: this page stands elsewhere now. */
document.addEventListener("htmx:afterSettle", () => {
  if (findTable() === table || !findTable()) return;
  readRows();
  recount();
  live.page.query = table.dataset.query ?? "";
  live.page.since = table.dataset.since ?? "";
  live.after = live.page.after = readAfter();
  live.hello();
});

/* Show: new rows take their places, those on the page stay the same elements. */
document.addEventListener("click", async (event) => {
  const newcomers = findNewcomers();
  const link = event.target instanceof Element ? event.target.closest("[data-newcomers] a") : null;
  if (!(link instanceof HTMLAnchorElement)) return;
  const body = table.tBodies?.[0];
  if (!body || event.ctrlKey || event.metaKey || /[?&](after|before)=/.test(location.search)) return;
  event.preventDefault();
  let fresh = null;
  try {
    const answer = await fetch(link.href);
    if (answer.ok && !answer.redirected) fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    fresh = null;
  }
  const freshTable = /** @type {HTMLTableElement | null} */ (fresh?.querySelector("table[data-live-table]"));
  if (!fresh || !freshTable) {
    location.assign(link.href);
    return;
  }
  /** @type {HTMLTableRowElement[]} */
  const came = [];
  const wanted = [...freshTable.tBodies[0].rows].map((row) => {
    const known = rows.get(row.dataset.id ?? "");
    if (known) return known;
    came.push(row);
    return /** @type {HTMLTableRowElement} */ (document.adoptNode(row));
  });
  for (const row of rows.values()) if (!wanted.includes(row)) row.remove();
  let place = body.firstElementChild;
  for (const row of wanted) {
    if (row === place) place = place.nextElementSibling;
    else body.insertBefore(row, place);
  }
  const foot = document.querySelector(".foot");
  const freshFoot = fresh.querySelector(".foot");
  if (foot && freshFoot) Idiomorph.morph(foot, freshFoot.outerHTML);
  if (newcomers) newcomers.hidden = true;
  readRows();
  recount();
  live.page.since = freshTable.dataset.since ?? live.page.since;
  live.hello();
  if (said) said.textContent = `${inWords(came.length)} shown.`;
  /** @type {HTMLElement | null} */ (came[0]?.querySelector("a.name"))?.focus();
});
