/** The live parts of one workload's pages: what is equal stays untouched. */
import { Live, patch } from "./connection.js";

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
