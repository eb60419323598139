/** Rows whose order counts can be dragged to their place by their grip; the buttons do the same. */

/**
 * @param {HTMLElement} root
 * @param {() => void} changed
 */
export function orderable(root, changed) {
  /** @type {HTMLElement | null} */ let held = null;
  let isMoved = false;
  root.addEventListener("pointerdown", (event) => {
    const grip = /** @type {HTMLElement} */ (event.target).closest("[data-grip]");
    held = /** @type {HTMLElement | null} */ (grip?.closest("[data-ordered]") ?? null);
    isMoved = false;
    if (held) event.preventDefault(); // nothing is selected on the way
  });
  window.addEventListener("pointermove", (event) => {
    if (!held) return;
    for (const row of /** @type {HTMLElement} */ (held.parentElement).querySelectorAll("[data-ordered]")) {
      const box = row.getBoundingClientRect();
      if (row === held || event.clientY < box.top || event.clientY > box.bottom) continue;
      const isBelow = event.clientY > box.top + box.height / 2;
      row.parentElement?.insertBefore(held, isBelow ? row.nextSibling : row);
      isMoved = true;
    }
  });
  for (const end of ["pointerup", "pointercancel"]) {
    window.addEventListener(end, () => {
      if (held && isMoved) changed();
      held = null;
    });
  }
}
