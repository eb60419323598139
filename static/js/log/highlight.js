/** Marks every place of a text in the rows that are in the page, without touching them. */

const NAME = "log-hit";

/** @param {Element} rows @param {string} text */
export const highlight = (rows, text) => {
  if (!("highlights" in CSS)) return;
  CSS.highlights.delete(NAME);
  if (!text) return;
  const ranges = [];
  for (const row of rows.querySelectorAll(".log-text")) ranges.push(...rangesIn(row, text.toLowerCase()));
  if (ranges.length) CSS.highlights.set(NAME, new Highlight(...ranges));
};

/** @param {Element} row @param {string} wanted */
const rangesIn = (row, wanted) => {
  const whole = (row.textContent ?? "").toLowerCase();
  const found = [];
  let at = whole.indexOf(wanted);
  if (at < 0) return found;
  const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
  const nodes = [];
  for (let node = walker.nextNode(), begin = 0; node; node = walker.nextNode()) {
    nodes.push({ node, begin });
    begin += node.textContent?.length ?? 0;
  }
  /** @param {number} offset */
  const place = (offset) => {
    const last = nodes.filter(({ begin }) => begin <= offset).at(-1) ?? nodes[0];
    return /** @type {[Node, number]} */ ([last.node, Math.min(offset - last.begin, last.node.textContent?.length ?? 0)]);
  };
  for (; at >= 0; at = whole.indexOf(wanted, at + wanted.length)) {
    const range = new Range();
    range.setStart(...place(at));
    range.setEnd(...place(at + wanted.length));
    found.push(range);
  }
  return found;
};
