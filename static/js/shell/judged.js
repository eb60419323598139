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
