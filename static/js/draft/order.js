/** Rows whose order counts can be dragged to their place by their grip; the buttons do the same. */

/**
 * @param {HTMLElement} root
 * @param {() => void} changed
 */
export function orderable(root, changed) {
  /** @type {HTMLElement | null} */ let held = null;
  root.addEventListener("pointerdown", (event) => {
    const grip = /** @type {HTMLElement} */ (event.target).closest("[data-grip]");
    const row = /** @type {HTMLElement | null} */ (grip?.closest("[data-ordered]") ?? null);
    if (row) row.draggable = true; // only then: text in a draggable row cannot be selected
  });
  root.addEventListener("dragstart", (event) => {
    held = /** @type {HTMLElement} */ (event.target).closest?.("[data-ordered]") ?? null;
    if (held && event.dataTransfer) event.dataTransfer.effectAllowed = "move";
  });
  root.addEventListener("dragover", (event) => {
    const over = /** @type {HTMLElement} */ (event.target).closest("[data-ordered]");
    if (!held || !over || over === held || over.parentElement !== held.parentElement) return;
    event.preventDefault();
    const box = over.getBoundingClientRect();
    const isBelow = event.clientY > box.top + box.height / 2;
    over.parentElement?.insertBefore(held, isBelow ? over.nextSibling : over);
  });
  root.addEventListener("drop", (event) => held && event.preventDefault());
  root.addEventListener("dragend", () => {
    if (!held) return;
    held.draggable = false;
    held = null;
    changed();
  });
}
