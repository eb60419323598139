/** What goes on grows once a second: the strips of the attempts, and how long their last stretch takes. */
const TRACK = 1000;
const SLIVER = 4;

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

/** @param {Element} line */
const draw = (line) => {
  const begins = at(line, "data-begins");
  const total = Math.max(Date.now() - begins, 1);
  for (const bar of line.querySelectorAll("rect")) {
    const from = at(bar, "data-from");
    const to = bar.hasAttribute("data-to") ? at(bar, "data-to") : Date.now();
    const width = Math.min(Math.max(Math.round(((to - from) / total) * TRACK), SLIVER), TRACK);
    bar.setAttribute("width", String(width));
    bar.setAttribute("x", String(Math.min(Math.round(((from - begins) / total) * TRACK), TRACK - width)));
  }
  for (const place of line.querySelectorAll("[data-grows]")) {
    const text = span(Math.max(0, Math.floor((Date.now() - at(place, "data-grows")) / 1000)));
    if (place.textContent !== text) place.textContent = text;
  }
};

setInterval(() => {
  if (document.hidden || document.querySelector('[data-live][data-state="paused"]')) return;
  for (const line of document.querySelectorAll("[data-timeline]:not([data-ends])")) draw(line);
}, 1000);
