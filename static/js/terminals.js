/* The terminals of one workload: one or several pods side by side, each on a line of its own. */
import { Line } from "./terminal/line.js";
import { screenIn } from "./terminal/screen.js";

const MOST = 8;
const root = /** @type {HTMLElement} */ (document.querySelector("[data-terminals]"));
const workload = root.dataset.workload ?? "";
const grid = /** @type {HTMLElement} */ (root.querySelector("[data-terminal-grid]"));
const model = /** @type {HTMLTemplateElement} */ (root.querySelector("[data-terminal-template]"));
const form = /** @type {HTMLFormElement} */ (root.querySelector("[data-terminal-form]"));
const select = /** @type {HTMLSelectElement} */ (form.querySelector("[data-terminal-pod]"));
const together = /** @type {HTMLElement} */ (form.querySelector("[data-terminal-together]"));
const inAll = /** @type {HTMLInputElement} */ (together.querySelector("input"));
/** @type {Map<string, {line: Line, focus: () => void}>} */
const open = new Map();

/** The address and the switch say what is open. */
const settled = () => {
  const query = new URLSearchParams([...open.keys()].map((pod) => ["pod", pod]));
  history.replaceState(null, "", open.size ? `?${query}` : location.pathname);
  together.hidden = open.size < 2;
  if (open.size < 2) inAll.checked = false;
};

/** @param {string} pod @param {string} text */
const typed = (pod, text) => {
  if (!inAll.checked) open.get(pod)?.line.type(text);
  else for (const one of open.values()) one.line.type(text);
};

/** @param {string} pod */
const add = (pod) => {
  const known = open.get(pod);
  if (known) {
    known.focus();
    return;
  }
  const panel = /** @type {HTMLElement} */ (
    /** @type {DocumentFragment} */ (model.content.cloneNode(true)).firstElementChild
  );
  const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (panel.querySelector(`[data-terminal-${name}]`));
  grid.append(panel);
  panel.dataset.pod = pod;
  part("name").textContent = pod;
  part("close").setAttribute("aria-label", `Close the terminal in ${pod}`);
  const screen = screenIn(part("screen"), `Terminal in ${pod}`);
  const size = () => ({ columns: screen.cols, rows: screen.rows });
  const begin = () => {
    part("again").hidden = true;
    const line = new Line(workload, pod, size(), {
      output: (data, done) => screen.write(data, done),
      say: (text, isOver) => {
        part("said").textContent = text;
        panel.dataset.state = isOver ? "over" : text ? "waiting" : "open";
        part("again").hidden = !isOver;
      },
    });
    open.set(pod, { line, focus: () => screen.focus() });
  };
  begin();
  settled();
  screen.focus();
  screen.onData((text) => typed(pod, text));
  screen.onResize(() => open.get(pod)?.line.resize(size()));
  screen.attachCustomKeyEventHandler((event) => {
    const leaves = event.ctrlKey && event.altKey && event.key === "Escape";
    const copies = event.ctrlKey && event.shiftKey && event.key.toLowerCase() === "c" && screen.hasSelection();
    if (event.type !== "keydown") return !leaves;
    if (leaves) part("close").focus();
    if (copies) {
      event.preventDefault();
      void navigator.clipboard.writeText(screen.getSelection());
    }
    return !(leaves || copies);
  });
  part("again").addEventListener("click", () => {
    screen.reset();
    begin();
    screen.focus();
  });
  part("close").addEventListener("click", () => {
    open.get(pod)?.line.close();
    open.delete(pod);
    screen.dispose();
    panel.remove();
    settled();
    select.focus();
  });
};

form.addEventListener("submit", (event) => {
  event.preventDefault();
  add(select.value);
});
form.querySelector("[data-terminal-every]")?.addEventListener("click", () => {
  for (const option of [...select.options].slice(0, MOST)) add(option.value);
});
const wanted = new URLSearchParams(location.search);
for (const pod of wanted.getAll("pod").slice(0, MOST)) {
  if ([...select.options].some((option) => option.value === pod)) add(pod);
}
if (wanted.has("connect") && !open.size && select.value) add(select.value);
