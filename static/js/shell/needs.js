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
