/** The live parts of one workload's pages: what is equal stays untouched. */
import { Live, patch } from "./connection.js";

const main = /** @type {HTMLElement} */ (document.querySelector("[data-live-page]"));
const said = document.querySelector("[data-live-said]");
const after = JSON.parse(document.getElementById("live-after")?.textContent ?? "{}");
let seq = 0;
let status = main.dataset.status ?? "";

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
