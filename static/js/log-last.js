/** The newest few lines of a log on the overview. */
import { Follower } from "./log/follow.js";
import { grow, localise, rowOf } from "./log/rows.js";
import { LogSource } from "./log/source.js";

const LINES = 12;

for (const view of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-log-last]"))) {
  const { logLast = "", attempt = "", after = "" } = view.dataset;
  const list = /** @type {HTMLElement} */ (view.querySelector("ol"));
  const empty = /** @type {HTMLElement} */ (view.querySelector(".log-empty"));
  const source = new LogSource(logLast, attempt, "");
  for (const time of list.querySelectorAll("time")) localise(time);
  const toEnd = () => (view.scrollTop = view.scrollHeight);

  /** @param {import("./log/rows.js").Page} page */
  const take = (page) => {
    for (const row of page.grown) {
      const li = /** @type {HTMLElement | null} */ (list.querySelector(`[data-id="${CSS.escape(row.id)}"]`));
      if (li) grow(li, row, source.address());
    }
    list.append(...page.lines.slice(-LINES).map((line) => rowOf(line, source.address())));
    while (list.children.length > LINES) list.firstElementChild?.remove();
    empty.hidden = list.children.length > 0;
    if (page.ended) empty.textContent = empty.dataset.nothing ?? "";
    if (page.lines.length) toEnd();
    // A new attempt prints into a log of its own.
    if (attempt !== String(page.newest)) location.reload();
  };
  const restart = () => location.reload();
  const follower = new Follower(source, after, { take, say: () => undefined, lost: restart });
  follower.ended = "ended" in view.dataset;
  toEnd();
  follower.wake();
}
