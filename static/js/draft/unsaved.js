/*
 * What is typed and not known to be saved when a page is left. A page that is loaded again may be
 * drawn before the last save has reached the server, so the tab keeps the texts and puts them back.
 */
const KEY = "gangline-unsaved";
/** Older texts are not put back: the draft may have gone on elsewhere in this tab. */
const MAX_AGE_MS = 30_000;

/** Keep what stands in the form. @param {FormData} body */
export const keep = (body) => {
  const texts = [...body].filter(([name]) => name !== "csrfmiddlewaretoken");
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ at: Date.now(), path: location.pathname, texts }));
  } catch {
    // Without room in the tab there still is the request that is sent.
  }
};

export const forget = () => sessionStorage.removeItem(KEY);

/** Put back what this tab had in this form a moment ago; what differs is told as if typed. @param {HTMLFormElement} form */
export const bringBack = (form) => {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  if (!kept || kept.path !== location.pathname) return;
  forget();
  if (Date.now() - kept.at > MAX_AGE_MS) return;
  const texts = new FormData();
  for (const [name, text] of kept.texts) texts.append(name, text);
  const differing = [...form.elements].filter((control) => putBack(control, texts));
  if (!differing.length) return;
  // With the version that the texts began with, another tab's texts are not overwritten unasked.
  /** @type {HTMLInputElement} */ (form.elements.namedItem("_version")).value = String(texts.get("_version"));
  for (const control of differing) control.dispatchEvent(new Event("change", { bubbles: true }));
};

/** Whether the control had another text. @param {Element} control @param {FormData} texts */
const putBack = (control, texts) => {
  if (control instanceof HTMLInputElement && /radio|checkbox/.test(control.type)) {
    const checked = texts.getAll(control.name).includes(control.value);
    if (control.disabled || control.checked === checked) return false;
    control.checked = checked;
    return checked || control.type === "checkbox";
  }
  if (!(control instanceof HTMLInputElement || control instanceof HTMLSelectElement || control instanceof HTMLTextAreaElement)) return false;
  const text = texts.get(control.name);
  if (control.type === "hidden" || typeof text !== "string" || control.value === text) return false;
  control.value = text;
  return true;
};
