/*
 * What changes the form itself (Add, Remove, another cluster or framework): the server draws the
 * step anew and the difference is put into the page, so that focus and scroll stay where they are.
 */
import { Idiomorph } from "../../vendor/idiomorph.js";

/**
 * @param {any} draft the element around the form
 * @param {string} go value of the pressed button
 */
export const mend = async (draft, go) => {
  clearTimeout(draft.timer);
  while (draft.saving) await draft.saving;
  draft.changed = false;
  draft.show("saving", "Saving…");
  const asked = request(draft, go).finally(() => (draft.saving = null));
  draft.saving = asked;
  await asked;
};

/** @param {any} draft @param {string} go */
const request = async (draft, go) => {
  const sent = draft.body(go);
  let page;
  try {
    const answer = await fetch(location.href.split("#")[0], {
      method: "POST",
      body: sent,
      headers: { "X-Gangline-Apply": "1" },
    });
    if (answer.redirected) {
      location.assign(answer.url);
      return;
    }
    if (answer.status >= 500) throw new Error(String(answer.status));
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    draft.failed();
    return;
  }
  const fresh = page.getElementById("wizard-form");
  if (!(fresh instanceof HTMLFormElement)) return;
  const focus = fresh.dataset.focus ?? "";
  delete fresh.dataset.focus;
  keepWhatWasTypedMeanwhile(draft.form, fresh, sent);
  Idiomorph.morph(draft.form, fresh, {
    morphStyle: "outerHTML",
    ignoreActiveValue: true,
    // What somebody unfolded stays so.
    callbacks: { beforeAttributeUpdated: (name, node, how) => !(node.localName === "details" && name === "open" && how === "remove") },
  });
  const saved = page.querySelector("[data-saved]")?.textContent?.trim();
  document.dispatchEvent(new CustomEvent("gangline:drawn"));
  if (saved) draft.show("saved", saved);
  draft.failures = 0;
  draft.stamp();
  draft.focusOn(focus);
  if (draft.changed) draft.touch(0);
};

/**
 * The answer knows only what was sent; what was typed since then must not be overwritten by it.
 * @param {HTMLFormElement} form @param {HTMLFormElement} fresh @param {FormData} sent
 */
const keepWhatWasTypedMeanwhile = (form, fresh, sent) => {
  for (const control of form.elements) {
    if (!("value" in control) || control instanceof HTMLButtonElement) continue;
    if (!control.name || control.type === "hidden" || !control.id) continue;
    const twin = fresh.querySelector(`#${CSS.escape(control.id)}`);
    if (control instanceof HTMLInputElement && /radio|checkbox/.test(control.type)) {
      const was = sent.getAll(control.name).includes(control.value);
      if (control.checked !== was) twin?.toggleAttribute("checked", control.checked);
    } else if (control.value !== sent.get(control.name) && sent.has(control.name)) {
      twin?.setAttribute("value", control.value);
      if (twin instanceof HTMLSelectElement) twin.value = control.value;
      if (twin instanceof HTMLTextAreaElement) twin.defaultValue = control.value;
    }
  }
};
