/*
 * A form[data-in-dialog] in a dialog is sent from within: what is wrong is told there at its
 * fields, with everything that was typed. It is left for the page that is answered as {to}.
 */

/** Secrets and files are not sent back: they stay as they were typed and chosen.
 * @param {HTMLFormElement} form @param {Element} content */
const keep = (form, content) => {
  const again = content.querySelector("form");
  if (again?.dataset.inDialog !== form.dataset.inDialog) return; // another form stands in for it
  for (const old of form.elements) {
    const control = old.name ? again?.elements.namedItem(old.name) : null;
    if (!(control instanceof HTMLElement) || control.tagName !== old.tagName) continue;
    if (old.type === "file") control.files = old.files;
    else if (old.value && !control.value && control.type === old.type) control.value = old.value;
  }
};

/** Where the server says that the focus belongs. @param {HTMLDialogElement} dialog */
const focusIn = (dialog) => {
  const id = dialog.querySelector("form")?.dataset.focus;
  const there = id ? dialog.querySelector(`#${CSS.escape(id)}, #dialog-${CSS.escape(id)}`) : null;
  (dialog.querySelector("[autofocus]") ?? there)?.focus();
};

/** The page takes the place of the dialog's entry in the history. @param {string} to */
const leave = (to) => {
  const there = new URL(to, location.href);
  const isHere = there.pathname + there.search === location.pathname + location.search;
  location.replace(there);
  if (isHere) location.reload();
};

/** @param {HTMLFormElement} form @param {HTMLElement?} button */
const send = async (form, button) => {
  const dialog = form.closest("dialog");
  const body = new FormData(form, button);
  form.inert = true;
  let answer = null;
  try {
    answer = await fetch(form.action, { method: "POST", body, headers: { "X-Gangline-Dialog": "1" } });
  } catch {
    const text = "The server did not answer. Try again.";
    document.dispatchEvent(new CustomEvent("gangline:toast", { detail: { text, tone: "bad" } }));
    return;
  } finally {
    form.inert = false;
  }
  if (answer.headers.get("Content-Type")?.startsWith("application/json")) {
    leave((await answer.json()).to);
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const content = page.querySelector("[data-dialog-content]");
  if (!content) {
    form.submit(); // an answer of another kind is a page of its own
    return;
  }
  keep(form, content);
  document.dispatchEvent(new CustomEvent("gangline:dialog-fill", { detail: { dialog, content } }));
  focusIn(dialog);
  for (const said of page.querySelectorAll("[data-toasts] .tone-good .toast-text")) {
    document.dispatchEvent(new CustomEvent("gangline:toast", { detail: { text: said.textContent } }));
  }
};

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !form.matches("dialog form[data-in-dialog]")) return;
  event.preventDefault();
  send(form, event.submitter);
});
