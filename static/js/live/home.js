/** Home shows what is there now: when something changes, its sections are fetched and drawn anew. */
import { Idiomorph } from "../../vendor/idiomorph.js";
import { Live } from "./connection.js";

const REST_MS = 800;
const after = JSON.parse(document.getElementById("live-after")?.textContent ?? "{}");
const find = (/** @type {Document} */ page) => /** @type {HTMLElement} */ (page.querySelector("[data-home]"));
let timer = 0;

const renew = async () => {
  timer = 0;
  const answer = await fetch(location.href).catch(() => null);
  if (!answer?.ok || answer.redirected) return;
  const fresh = find(new DOMParser().parseFromString(await answer.text(), "text/html"));
  if (!fresh) return;
  Idiomorph.morph(find(document), fresh, { morphStyle: "outerHTML" });
  live.page.since = fresh.dataset.since ?? "";
};

const live = new Live({
  feed: "workloads",
  query: "",
  since: find(document).dataset.since ?? "",
  ids: () => [],
  after,
  changesUrl: find(document).dataset.changes ?? "",
  draw: (frame) => {
    const moved = Object.entries(frame.to ?? {}).some(([scope, seq]) => seq > (after[scope] ?? 0));
    for (const [scope, seq] of Object.entries(frame.to ?? {})) after[scope] = Math.max(after[scope] ?? 0, seq);
    if (moved && !timer) timer = window.setTimeout(renew, REST_MS);
  },
});
