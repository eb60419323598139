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
