/*
 * Toasts. "gangline:toast" with {text, tone, link?: {text, url}} shows one. A good one goes after
 * 8 s unless somebody is at it; an error stays until closed; at most three are shown.
 */
const STAY_MS = 8000;
const MOST = 3;
const ICONS = { good: "circle-check", info: "info-circle", warn: "alert-triangle", bad: "alert-octagon" };
const SVG = "http://www.w3.org/2000/svg";

const area = document.querySelector("[data-toasts]");

/** @param {string} name @param {string} css */
const icon = (name, css) => {
  const svg = document.createElementNS(SVG, "svg");
  const use = document.createElementNS(SVG, "use");
  const sprite = document.querySelector("use[href]")?.getAttribute("href")?.split("#")[0] ?? "";
  use.setAttribute("href", `${sprite}#${name}`);
  svg.setAttribute("class", css);
  svg.setAttribute("aria-hidden", "true");
  svg.append(use);
  return svg;
};

/** Once the page shows the status that was on its way, its message is out of date. @param {HTMLElement} toast */
const leaveWith = (toast) => {
  const [id, status] = (toast.dataset.until ?? "").split(" ");
  const shown = `[data-id="${id}"][data-status="${status}"], [data-query^="${id}/"][data-status="${status}"]`;
  const timer = setInterval(() => {
    if (document.querySelector(shown)) toast.remove();
    if (!toast.isConnected) clearInterval(timer);
  }, 250);
};

/** @param {Element} toast */
const settle = (toast) => {
  if (toast instanceof HTMLElement && toast.dataset.until) leaveWith(toast);
  toast.querySelector("details")?.addEventListener("toggle", (event) => {
    if (!(/** @type {HTMLDetailsElement} */ (event.target).open)) toast.remove();
  });
  if (toast.classList.contains("tone-bad")) return;
  const go = () => {
    if (toast.matches(":hover, :focus-within")) setTimeout(go, 2000);
    else toast.remove();
  };
  setTimeout(go, STAY_MS);
};

/** @param {{text: string, tone?: string, link?: {text: string, url: string}}} message */
const show = ({ text, tone = "good", link }) => {
  if (!area) return;
  const toast = document.createElement("div");
  toast.className = `toast tone-${tone}`;
  toast.setAttribute("role", tone === "bad" ? "alert" : "status");
  toast.dataset.testid = "toast";
  const words = document.createElement("div");
  words.className = "toast-text";
  words.textContent = text;
  if (link) {
    const anchor = document.createElement("a");
    anchor.href = link.url;
    anchor.textContent = link.text;
    words.append(" ", anchor);
  }
  const fold = document.createElement("details");
  fold.className = "toast-fold";
  fold.open = true;
  const close = document.createElement("summary");
  close.className = "toast-close";
  close.setAttribute("aria-label", "Close message");
  close.append(icon("x", "icon"));
  fold.append(close);
  toast.append(icon(ICONS[tone] ?? "info-circle", "icon toast-icon"), words, fold);
  area.append(toast);
  settle(toast);
  const shown = [...area.querySelectorAll(".toast")];
  const spare = shown.filter((one) => !one.classList.contains("tone-bad"));
  for (const old of [...spare, ...shown].slice(0, Math.max(0, shown.length - MOST))) old.remove();
};

if (area) for (const toast of area.querySelectorAll("[data-toast]")) settle(toast);

document.addEventListener("gangline:toast", (event) => show(event.detail));

for (const name of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(name, (event) => {
    const id = event.detail?.xhr?.getResponseHeader?.("X-Request-Id");
    const text = id
      ? `The server could not do this. Try again. Error ID ${id}`
      : "The server did not answer. Try again.";
    show({ text, tone: "bad" });
  });
}
