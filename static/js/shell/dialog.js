/*
 * Dialogs. [data-dialog] on a link shows the [data-dialog-content] of the page it leads to as a
 * dialog; without scripts, or when the page cannot be had, the link is simply followed.
 * "gangline:dialog" with {url} does the same from another script, "gangline:dialog-fill" with
 * {dialog, content} puts other content into one that is open.
 *
 * A dialog that leads nowhere by itself has an entry in the history: Back closes it, and only it.
 */

const FIRST = 'form :is(input, select, textarea):not([type="hidden"], [disabled])';

/** @param {string} url */
const fetchContent = async (url) => {
  const answer = await fetch(url, { headers: { "X-Gangline-Dialog": "1" } });
  if (!answer.ok || answer.redirected) return null;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return page.querySelector("[data-dialog-content]");
};

/** A page has one h1, and it is not in the dialog. @param {Element} content */
const demoteHeading = (content) => {
  const heading = content.querySelector("h1");
  if (!heading) return "";
  const title = document.createElement("h2");
  title.className = heading.className;
  title.id = "dialog-lifted-title";
  title.append(...heading.childNodes);
  heading.replaceWith(title);
  return title.id;
};

/** Ids that the page below has too would take the labels of the dialog. @param {Element} content */
const separate = (content) => {
  const taken = [...content.querySelectorAll("[id]")].filter(({ id }) => document.getElementById(id));
  const ids = new Set(taken.map(({ id }) => id));
  for (const element of taken) element.id = `dialog-${element.id}`;
  for (const name of ["for", "aria-describedby", "aria-labelledby", "list"]) {
    for (const element of content.querySelectorAll(`[${name}]`)) {
      const own = (element.getAttribute(name) ?? "").split(" ");
      element.setAttribute(name, own.map((id) => (ids.has(id) ? `dialog-${id}` : id)).join(" "));
    }
  }
  for (const link of content.querySelectorAll('a[href^="#"]')) {
    if (ids.has(link.hash.slice(1))) link.hash = `dialog-${link.hash.slice(1)}`;
  }
};

/** @param {HTMLDialogElement} dialog @param {Element} content */
const fill = (dialog, content) => {
  dialog.replaceChildren();
  const title = demoteHeading(content);
  separate(content);
  if (title) dialog.setAttribute("aria-labelledby", title);
  dialog.append(document.adoptNode(content));
  globalThis.htmx?.process(content);
  if (!dialog.open) dialog.showModal();
  // What comes first for the browser is the unseen button that Enter presses.
  if (!content.querySelector("[autofocus]")) content.querySelector(FIRST)?.focus();
  document.dispatchEvent(new CustomEvent("gangline:dialog-open", { detail: { dialog } }));
};

/** @param {string} url @param {boolean} isNext whether it takes the place, and the entry, of another */
const openPage = async (url, isNext = false) => {
  let content = null;
  try {
    content = await fetchContent(url);
  } catch {
    content = null;
  }
  if (!content) {
    window.location.assign(url);
    return;
  }
  const dialog = document.createElement("dialog");
  dialog.className = "dialog";
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (dialog.dataset.entry) history.back();
  });
  document.body.append(dialog);
  const stays = !content.querySelector("form:not([data-in-dialog])");
  fill(dialog, content);
  if (!stays) return;
  dialog.dataset.entry = "own";
  if (!isNext) history.pushState({ dialog: true }, "");
};

/** Close it, and leave its entry to what comes next. @param {HTMLElement?} dialog */
const hand = (dialog) => {
  if (!(dialog instanceof HTMLDialogElement)) return false;
  const had = !!dialog.dataset.entry;
  delete dialog.dataset.entry;
  dialog.close();
  return had;
};

window.addEventListener("popstate", () => hand([...document.querySelectorAll("dialog[data-entry]")].at(-1) ?? null));

document.addEventListener("gangline:dialog", (event) => openPage(event.detail.url));
document.addEventListener("gangline:dialog-fill", ({ detail: { dialog, content } }) => fill(dialog, content));

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element)) return;
  const plain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.button);
  const opener = event.target.closest("a[data-dialog]");
  if (opener && plain) {
    event.preventDefault();
    opener.closest("[popover]")?.hidePopover();
    openPage(/** @type {HTMLAnchorElement} */ (opener).href, hand(opener.closest("dialog")));
    return;
  }
  const closer = event.target.closest("dialog [data-close]");
  if (closer) {
    event.preventDefault();
    closer.closest("dialog")?.close();
    return;
  }
  // A press on the backdrop lands on the dialog itself.
  if (event.target instanceof HTMLDialogElement && event.target.open) {
    const box = event.target.getBoundingClientRect();
    const inside =
      event.clientX >= box.left && event.clientX <= box.right &&
      event.clientY >= box.top && event.clientY <= box.bottom;
    if (!inside && event.detail > 0) event.target.close();
    return;
  }
  // Browsers without the command attribute.
  const button = event.target.closest("button[commandfor]");
  if (button && !("command" in HTMLButtonElement.prototype)) {
    const dialog = document.getElementById(button.getAttribute("commandfor") ?? "");
    if (dialog instanceof HTMLDialogElement) {
      if (button.getAttribute("command") === "close") dialog.close();
      else dialog.showModal();
    }
  }
});
