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
