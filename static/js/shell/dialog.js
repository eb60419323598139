/*
 * Dialogs. [data-dialog] on a link shows the [data-dialog-content] of the page it leads to as a
 * dialog; without scripts, or when the page cannot be had, the link is simply followed.
 * "gangline:dialog" with {url} does the same from another script. A form[data-in-dialog] is sent
 * from within: what is wrong is told at its fields in the dialog, and it is left for the page that is answered as {to}.
 */
const HEADERS = { "X-Gangline-Dialog": "1" };

/** @param {Response} answer */
const contentOf = async (answer) => {
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return page.querySelector("[data-dialog-content]");
};

/** @param {string} url */
const fetchContent = async (url) => {
  const answer = await fetch(url, { headers: HEADERS });
  return answer.ok && !answer.redirected ? contentOf(answer) : null;
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
};

/** @param {HTMLDialogElement} dialog @param {Element} content */
const fill = (dialog, content) => {
  dialog.replaceChildren();
  const title = demoteHeading(content);
  separate(content);
  if (title) dialog.setAttribute("aria-labelledby", title);
  dialog.append(document.adoptNode(content));
};

/** Secrets and files are not sent back: they stay as they were typed and chosen.
 * @param {HTMLFormElement} form @param {Element} content */
const keep = (form, content) => {
  const again = content.querySelector("form");
  for (const old of form.elements) {
    const control = old.name ? again?.elements.namedItem(old.name) : null;
    if (!(control instanceof HTMLElement) || control.tagName !== old.tagName) continue;
    if (old.type === "file") control.files = old.files;
    else if (old.value && !control.value && control.type === old.type) control.value = old.value;
  }
};

/** @param {HTMLFormElement} form @param {HTMLElement?} button */
const send = async (form, button) => {
  const dialog = form.closest("dialog");
  const body = new FormData(form, button);
  form.inert = true;
  let answer = null;
  try {
    answer = await fetch(form.action, { method: "POST", body, headers: HEADERS });
  } catch {
    answer = null;
  }
  form.inert = false;
  if (!answer) {
    const text = "The server did not answer. Try again.";
    document.dispatchEvent(new CustomEvent("gangline:toast", { detail: { text, tone: "bad" } }));
    return;
  }
  if (answer.headers.get("Content-Type")?.startsWith("application/json")) {
    const there = new URL((await answer.json()).to, location.href);
    const isHere = there.pathname + there.search === location.pathname + location.search;
    location.assign(there);
    if (isHere) location.reload();
    return;
  }
  const content = await contentOf(answer);
  if (!content) {
    form.submit();
    return;
  }
  keep(form, content);
  fill(dialog, content);
  document.dispatchEvent(new CustomEvent("gangline:dialog-open", { detail: { dialog } }));
  const first = dialog.querySelector("[autofocus]") ?? dialog.querySelector("[aria-invalid=true]");
  first?.focus();
};

/** @param {string} url */
const openPage = async (url) => {
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
  fill(dialog, content);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  document.dispatchEvent(new CustomEvent("gangline:dialog-open", { detail: { dialog } }));
};

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !form.matches("dialog form[data-in-dialog]")) return;
  event.preventDefault();
  send(form, event.submitter);
});

document.addEventListener("gangline:dialog", (event) => openPage(event.detail.url));

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element)) return;
  const plain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.button);
  const opener = event.target.closest("a[data-dialog]");
  if (opener && plain) {
    event.preventDefault();
    opener.closest("[popover]")?.hidePopover();
    opener.closest("dialog")?.close();
    openPage(/** @type {HTMLAnchorElement} */ (opener).href);
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
