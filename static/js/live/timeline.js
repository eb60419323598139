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
