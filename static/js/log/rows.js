/**
 * Rows of a log. Text gets into the page as text nodes only; the server has named the looks.
 *
 * @typedef {[string, string]} Part text and classes
 * @typedef {{id: string, time: string, stamp: string, pod: string, tone: string, parts: Part[],
 *   kind?: string, cut?: boolean, replaces?: boolean}} Row
 * @typedef {{lines: Row[], grown: Row[], before: string, after: string, older: boolean,
 *   newer: boolean, ended: boolean, newest: number, at: string}} Page
 */

/** @param {string} name @param {string} text @param {string} [className] */
const element = (name, text, className = "") => {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
};

/** @param {HTMLElement} place @param {Part[]} parts */
const write = (place, parts) => {
  for (const [text, classes] of parts) {
    place.append(classes ? element("span", text, classes) : text);
  }
};

/** The time of day where the reader is; the title keeps the stamp of the line. @param {HTMLElement} time */
export const localise = (time) => {
  const at = new Date(time.title);
  if (Number.isNaN(at.getTime())) return;
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  const rest = /\.\d{3}/.exec(time.textContent ?? "")?.[0] ?? "";
  time.textContent = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}${rest}`;
};

/** @param {Row} row @param {string} whole address that gives a whole line */
export const rowOf = (row, whole) => {
  const li = element("li", "", row.kind);
  li.dataset.id = row.id;
  const time = element("time", row.time);
  time.title = row.stamp;
  localise(time);
  const text = element("span", "", "log-text");
  write(text, row.parts);
  li.append(time, element("span", row.pod, `src ${row.tone}`), text);
  setCut(li, row, whole);
  return li;
};

/** Put what was added to a line behind it, or in its place. @param {HTMLElement} li @param {Row} row @param {string} whole */
export const grow = (li, row, whole) => {
  const text = /** @type {HTMLElement} */ (li.querySelector(".log-text"));
  text.querySelector("[data-whole]")?.remove();
  if (row.replaces) text.replaceChildren();
  write(text, row.parts);
  if (row.kind) li.className = row.kind;
  setCut(li, row, whole);
};

/** @param {HTMLElement} li @param {Row} row @param {string} whole */
const setCut = (li, row, whole) => {
  if (!row.cut) return;
  const link = /** @type {HTMLAnchorElement} */ (element("a", "show all", "log-more"));
  link.href = `${whole}&text=1&line=${row.id}`;
  link.dataset.whole = "";
  li.querySelector(".log-text")?.append(link);
};

/** @param {number} count @param {string} [word] */
export const counted = (count, word = "line") =>
  `${String(count).replace(/\B(?=(\d{3})+$)/g, "\u00a0")} ${word}${count === 1 ? "" : "s"}`;
