/* "Why?" of a field and "New …" show their page as a dialog, once the server knows what is typed. */

/** @param {any} draft @param {HTMLButtonElement} button */
export const explain = async (draft, button) => {
  if (draft.changed) await draft.save();
  const [verb, what] = button.value.split(":");
  const url = `${location.pathname}?${verb}=${encodeURIComponent(what)}`;
  document.dispatchEvent(new CustomEvent("gangline:dialog", { detail: { url } }));
};
