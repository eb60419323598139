/* What a save brings back: when, the summary, what controls come to, where values come from. */

/** @param {"saving" | "saved" | "failed"} state @param {string} words */
export const show = (state, words) => {
  const place = document.querySelector("[data-saved]");
  if (!(place instanceof HTMLElement)) return;
  place.dataset.state = state;
  place.querySelector(".saved-icon")?.toggleAttribute("hidden", state !== "saved");
  const text = place.querySelector("[data-saved-words]");
  if (text && text.textContent !== words) text.textContent = words;
};

/** @typedef {{text: string, unit: string, placeholder: string}} Value */

/**
 * @param {Element} draft the element around the form
 * @param {{summary: string, values: Record<string, Value>, echoes: Record<string, string>, errors: Record<string, string>, problems: string, chips: Record<string, string>}} data
 * @param {FormData} sent
 */
export const refresh = (draft, { summary, values, echoes, errors, problems, chips }, sent) => {
  const old = draft.querySelector("[data-summary]");
  const open = old?.querySelector("details")?.open ?? false;
  if (old) old.outerHTML = summary;
  const details = draft.querySelector("[data-summary] details");
  if (details instanceof HTMLDetailsElement) details.open = open;
  for (const [path, { text, unit, placeholder }] of Object.entries(values)) {
    const control = put(draft, path, text, sent);
    if (control instanceof HTMLInputElement) control.placeholder = placeholder;
    put(draft, `${path}~unit`, unit, sent);
  }
  for (const place of draft.querySelectorAll("[data-echo]")) {
    const html = echoes[place.getAttribute("data-echo") ?? ""] ?? "";
    if (place.innerHTML !== html) place.innerHTML = html;
    place.toggleAttribute("hidden", !html);
  }
  showErrors(draft, errors);
  const list = draft.querySelector("[data-problems]");
  // What is mended leaves the list; the list itself comes with a refused step only.
  if (list?.childElementCount && list.innerHTML.trim() !== problems) list.innerHTML = problems;
  for (const place of draft.querySelectorAll("[data-chip]")) {
    const html = chips[place.getAttribute("data-chip") ?? ""];
    if (html !== undefined && !place.contains(document.activeElement)) place.innerHTML = html;
  }
};

/**
 * A value that follows another field. What was typed meanwhile stays, and so does the cursor.
 * @param {Element} draft @param {string} name @param {string} text @param {FormData} sent
 */
const put = (draft, name, text, sent) => {
  const control = draft.querySelector(`[name="${CSS.escape(name)}"]`);
  const isText = control instanceof HTMLInputElement;
  if (!isText && !(control instanceof HTMLSelectElement)) return null;
  if (control.value === text || control.value !== sent.get(name)) return control;
  if (!isText || document.activeElement !== control) {
    control.value = text;
    return control;
  }
  const [start, end, whole] = [control.selectionStart ?? 0, control.selectionEnd ?? 0, control.value.length];
  control.value = text;
  control.setSelectionRange(start, end === whole ? text.length : end);
  return control;
};

/**
 * What is wrong stands at its field as soon as the field is left, and goes as soon as it is right.
 * @param {Element} draft @param {Record<string, string>} errors
 */
export const showErrors = (draft, errors) => {
  for (const place of draft.querySelectorAll("[data-errors]")) {
    const html = errors[place.getAttribute("data-errors") ?? ""];
    const field = place.closest(".field");
    if (html === undefined || (html && field?.contains(document.activeElement) && !place.childElementCount)) continue;
    if (place.innerHTML !== html) place.innerHTML = html;
    // Advice stands there too, and nothing is wrong then.
    const isWrong = !!place.querySelector(".error");
    field?.classList.toggle("wrong", isWrong);
    // Of a list nothing tells which of its controls it is.
    if (!field?.querySelector(".rows")) field?.querySelector(".input")?.setAttribute("aria-invalid", String(isWrong));
  }
};
