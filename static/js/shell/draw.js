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
