/* "Why?" of a field shows its page as a dialog, once the server knows what is typed. */

/** @param {any} draft @param {HTMLButtonElement} button */
export const explain = async (draft, button) => {
  if (draft.changed) await draft.save();
  const path = button.value.replace(/^explain:/, "");
  const url = `${location.pathname}?explain=${encodeURIComponent(path)}`;
  document.dispatchEvent(new CustomEvent("gangline:dialog", { detail: { url } }));
};
