/*
 * Review makes its dry run by itself. It takes up to half a minute and keeps nobody from anything:
 * only the checks and the verdicts are drawn anew, whatever else was pressed meanwhile.
 */

/** @param {any} draft the element around the form */
export const dryRun = async (draft) => {
  const button = draft.querySelector("[data-dry-run-now]");
  if (!button || button.getAttribute("aria-disabled") === "true") return;
  const words = button.textContent;
  const wasPressed = document.activeElement === button;
  button.setAttribute("aria-disabled", "true");
  button.textContent = button.dataset.busy;
  try {
    const answer = await fetch(location.href.split("#")[0], {
      method: "POST",
      body: draft.body("check"),
      headers: { "X-Gangline-Apply": "1" },
    });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector("[data-checks]");
    if (!answer.ok || answer.redirected || !fresh) throw new Error(String(answer.status));
    const isStillThere = document.activeElement === button;
    for (const part of ["[data-checks]", "[data-summary]", "[data-bar-verdict]"]) {
      const drawn = page.querySelector(part);
      if (drawn) draft.querySelector(part)?.replaceWith(drawn);
    }
    // Who pressed it, and did nothing else since, is taken to the answer.
    if (wasPressed && isStillThere) document.getElementById("check-cluster")?.focus();
  } catch {
    button.removeAttribute("aria-disabled");
    button.textContent = words;
  }
};
