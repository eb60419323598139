{
/* What cannot be chosen can be reached and read; the server would refuse it. */
document.addEventListener("click", (event) => {
  if (event.target instanceof Element && event.target.matches('input[aria-disabled="true"]')) event.preventDefault();
});
}
{
/* [data-copy="text"] copies its text; [data-copy-from="closest"] the code of the figure around it. */
const SHOWN_MS = 2000;

document.addEventListener("click", async (event) => {
  if (!(event.target instanceof Element)) return;
  const button = event.target.closest("[data-copy], [data-copy-from]");
  if (!(button instanceof HTMLElement)) return;
  const source = button.closest("figure")?.querySelector("pre");
  const text = button.dataset.copy ?? source?.textContent ?? "";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (source) getSelection()?.selectAllChildren(source);
    document.dispatchEvent(
      new CustomEvent("gangline:toast", {
        detail: { text: "The browser did not allow copying. Press Ctrl+C.", tone: "warn" },
      }),
    );
    return;
  }
  const words = [...button.childNodes].find((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim());
  if (!words || button.dataset.copied) return;
  const before = words.textContent;
  button.dataset.copied = "true";
  button.setAttribute("aria-live", "polite");
  words.textContent = "Copied";
  setTimeout(() => {
    words.textContent = before;
    delete button.dataset.copied;
  }, SHOWN_MS);
});
}
{
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
}
{
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
}
{
/* A form whose fields depend on each other is drawn anew by the server when one of those changes. */
document.addEventListener("change", (event) => {
  if (!(event.target instanceof Element) || !event.target.matches("[data-applies]")) return;
  const form = event.target.closest("form[data-draws-anew]");
  const button = form?.querySelector("[data-draw]");
  if (form instanceof HTMLFormElement && button instanceof HTMLElement) form.requestSubmit(button);
});

/* After a button that changes the form, the focus is where the server says. */
const drawn = document.querySelector("form[data-focus]:not(.wizard)");
document.getElementById(drawn?.dataset.focus ?? "")?.focus();
}
{
/*
 * form[data-judged]: its text is judged by the server while it is typed. What is wrong stands in
 * #judged-lines; while #judged-why says why, the button [data-judged-save] waits.
 */
const PAUSE_MS = 500;
const judged = document.querySelector("form[data-judged]");

if (judged instanceof HTMLFormElement) {
  const form = judged;
  let latest = 0;
  let timer = 0;

  const settle = () => {
    const save = form.querySelector("[data-judged-save]");
    const why = document.getElementById("judged-why")?.textContent?.trim();
    if (save instanceof HTMLButtonElement) save.disabled = Boolean(why);
  };

  const judge = async () => {
    const mine = ++latest;
    const body = new FormData(form);
    body.set("check", "1");
    const answer = await fetch(location.href, { method: "POST", body }).catch(() => null);
    if (!answer || !(answer.ok || answer.status === 422)) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== latest) return;
    document.querySelector("[data-testid=problem-summary]")?.remove();
    for (const id of ["judged-lines", "judged-why"]) {
      const part = fresh.getElementById(id);
      if (part) document.getElementById(id)?.replaceWith(part);
    }
    settle();
  };

  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(judge, PAUSE_MS);
  });
  settle();
}
}
{
/* Menus open and close without scripts; this adds the arrow keys. */

/** @param {Element} list @returns {HTMLElement[]} */
const itemsOf = (list) => [...list.querySelectorAll(".menu-item")];

document.addEventListener("keydown", (event) => {
  if (!["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) return;
  if (!(event.target instanceof Element)) return;
  const opener = event.target.closest("button[popovertarget]");
  if (opener && event.key === "ArrowDown") {
    const list = document.getElementById(opener.getAttribute("popovertarget") ?? "");
    if (!list?.matches("[data-menu]")) return;
    event.preventDefault();
    list.showPopover({ source: opener });
    itemsOf(list)[0]?.focus();
    return;
  }
  const list = event.target.closest("[data-menu]");
  if (!list) return;
  const items = itemsOf(list);
  const here = items.indexOf(/** @type {HTMLElement} */ (event.target));
  const last = items.length - 1;
  const next = {
    ArrowDown: here === last ? 0 : here + 1,
    ArrowUp: here <= 0 ? last : here - 1,
    Home: 0,
    End: last,
  }[event.key];
  event.preventDefault();
  items[next ?? 0]?.focus();
});
}
{
/*
 * [data-needs="name"] around a control: it steps aside while the control of that name has none of
 * data-values, or where none are named says nothing. What it holds is sent under another name, which the server keeps and does not count.
 */
const ASIDE = "~aside";

/** @param {HTMLElement} place */
const follow = (place) => {
  const control = place.querySelector("input[name], select[name], textarea[name]");
  const form = place.closest("form");
  if (!control || !form) return;
  const said = new FormData(form).getAll(place.dataset.needs ?? "").at(-1) || place.dataset.standing || "";
  const isMet = place.dataset.values ? place.dataset.values.split(" ").includes(String(said)) : !!said;
  // In a row, what is there without the choice says it by being there.
  const isToldAnyway = !said && place.matches(".sheet-cell") && control.value !== (place.dataset.usual ?? "");
  const stays = isMet || !!place.querySelector(".error") || isToldAnyway;
  place.toggleAttribute("data-aside", !stays);
  const name = control.name.replace(ASIDE, "") + (stays ? "" : ASIDE);
  for (const one of place.querySelectorAll(`[name="${control.name}"]`)) one.setAttribute("name", name);
};

const followAll = () => document.querySelectorAll("[data-needs]").forEach(follow);

for (const event of ["change", "gangline:drawn", "gangline:dialog-open"]) document.addEventListener(event, followAll, true);
followAll();

/* A row that somebody types into is no longer empty; what is said of an empty one goes. */
document.addEventListener("input", (event) => {
  const row = event.target instanceof Element ? event.target.closest(".rows-item") : null;
  row?.querySelector(":scope > .rows-idle")?.toggleAttribute("data-typed", true);
});
}
{
/* Where one is stays in sight in the navigation, however long it is. */
const showPlace = () => document.querySelector(".rail [aria-current]")?.scrollIntoView({ block: "nearest" });

document.getElementById("rail")?.addEventListener("toggle", showPlace);
showPlace();
}
{
/*
 * Tables of every list: selection with ranges and the bulk bar, the order in the column chooser,
 * and keys: / searches, j and k walk, x selects, Enter opens, n makes a new one, ? lists the keys.
 * Everything is delegated: filters replace the rows.
 */

/** @param {Element} root @returns {HTMLInputElement[]} */
const boxesOf = (root) => [...root.querySelectorAll('tbody [name="id"]:not(:disabled)')];

/** @param {Element} form */
const recount = (form) => {
  const list = boxesOf(form);
  const checked = list.filter((box) => box.checked).length;
  const count = form.querySelector("[data-bulk-count]");
  if (count) count.textContent = `${checked} selected`;
  const all = /** @type {HTMLInputElement | null} */ (form.querySelector("[data-select-page]"));
  if (all) {
    all.checked = checked > 0 && checked === list.length;
    all.indeterminate = checked > 0 && checked < list.length;
  }
};

/** @type {HTMLInputElement | null} */
let last = null;
document.addEventListener("click", (event) => {
  const box = event.target;
  if (!(box instanceof HTMLInputElement) || box.name !== "id") return;
  const form = box.closest("[data-rows]");
  if (!form) return;
  if (event.shiftKey && last?.isConnected) {
    const list = boxesOf(form);
    const [from, to] = [list.indexOf(last), list.indexOf(box)].sort((a, b) => a - b);
    for (const between of list.slice(from, to + 1)) between.checked = box.checked;
  }
  last = box;
  recount(form);
});
document.addEventListener("change", (event) => {
  const all = event.target;
  if (!(all instanceof HTMLInputElement) || !all.matches("[data-select-page]")) return;
  const form = all.closest("[data-rows]");
  if (!form) return;
  for (const box of boxesOf(form)) box.checked = all.checked;
  recount(form);
});
document.addEventListener("reset", (event) => {
  if (event.target instanceof Element && event.target.matches("[data-rows]")) setTimeout(recount, 0, event.target);
});
document.addEventListener("gangline:rows", () => {
  for (const form of document.querySelectorAll("[data-rows]")) recount(form);
});

/* The chosen pill is in sight on a phone. */
const showPill = () => document.querySelector(".pills [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
showPill();
document.addEventListener("htmx:afterSettle", showPill);

/* Up and down in the chooser move the entry at once; without scripts they send the form. */
document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-chooser] button[name]") : null;
  if (!(button instanceof HTMLButtonElement)) return;
  event.preventDefault();
  const item = button.closest("li");
  const other = button.name === "up" ? item?.previousElementSibling : item?.nextElementSibling;
  if (!item || !other) return;
  if (button.name === "up") other.before(item);
  else other.after(item);
  button.focus();
});

/** @param {KeyboardEvent} event */
const isTyping = (event) =>
  event.ctrlKey || event.metaKey || event.altKey || !(event.target instanceof Element) ||
  event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable], dialog, [popover]:popover-open") !== null;

/** @param {number} step */
const walk = (step) => {
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-rows] tbody tr")]);
  const here = rows.findIndex((row) => row.contains(document.activeElement));
  const row = rows[Math.min(Math.max(here + step, 0), rows.length - 1)];
  /** @type {HTMLElement | null} */ (row?.querySelector("a.name"))?.focus();
};

const KEYS = {
  "/": () => /** @type {HTMLElement | null} */ (document.getElementById("table-search"))?.focus(),
  j: () => walk(1),
  k: () => walk(-1),
  x: () => /** @type {HTMLElement | null} */ (document.activeElement?.closest("tr")?.querySelector('[name="id"]'))?.click(),
  n: () => /** @type {HTMLElement | null} */ (document.querySelector('[data-key="n"]'))?.click(),
  "?": () => /** @type {HTMLDialogElement | null} */ (document.getElementById("table-keys"))?.showModal(),
};
document.addEventListener("keydown", (event) => {
  const key = KEYS[/** @type {keyof KEYS} */ (event.key)];
  if (!key || isTyping(event) || !document.querySelector("[data-table]")) return;
  event.preventDefault();
  key();
});
}
{
/* Change the theme at once; the form behind it remembers it. */
document.addEventListener("submit", async (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  const button = /** @type {HTMLButtonElement | null} */ (event.submitter);
  if (!form.matches("[data-theme-form]") || !button) return;
  event.preventDefault();
  const body = new FormData(form, button);
  try {
    const answer = await fetch(form.action, { method: "POST", body, redirect: "manual" });
    if (answer.type !== "opaqueredirect") throw new Error(String(answer.status));
  } catch {
    document.dispatchEvent(
      new CustomEvent("gangline:toast", {
        detail: { text: "The theme could not be saved. Try again.", tone: "bad" },
      }),
    );
    return;
  }
  if (button.value === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset.theme = button.value;
  for (const other of form.querySelectorAll("[aria-pressed]")) {
    other.setAttribute("aria-pressed", String(other === button));
  }
});
}
{
/* Relative times grow once a minute, running durations by seconds at first; not while live updates are paused. */
const MINUTE_MS = 60_000;

/** The same words as gangline.web.formats.relative, within a day. @param {number} ms */
const words = (ms) => {
  const minutes = Math.floor(ms / MINUTE_MS);
  if (minutes < 1) return "just now";
  return minutes < 60 ? `${minutes} min ago` : `${Math.floor(minutes / 60)} h ago`;
};

setInterval(() => {
  if (document.hidden || document.querySelector('[data-live][data-state="paused"]')) return;
  for (const time of document.querySelectorAll("time[data-relative]")) {
    const age = Date.now() - Date.parse(time.getAttribute("datetime") ?? "");
    if (!(age >= 0 && age < 24 * 60 * MINUTE_MS)) continue;
    const text = words(age);
    if (time.textContent !== text) time.textContent = text;
  }
}, MINUTE_MS);

setInterval(() => {
  if (document.hidden || document.querySelector('[data-live][data-state="paused"]')) return;
  for (const place of document.querySelectorAll("[data-running]")) {
    const age = Date.now() - Date.parse(place.getAttribute("data-running") ?? "");
    const minutes = Math.floor(age / MINUTE_MS);
    if (!(age >= 0 && minutes < 24 * 60)) continue;
    const rest = String(minutes % 60).padStart(2, "0");
    let text = minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${rest} min`;
    if (minutes < 1) text = `${Math.floor(age / 1000)} s`;
    if (place.textContent !== text) place.textContent = text;
  }
}, 1000);
}
{
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
}
