/* [data-copy="text"] copies its text; [data-copy-from="closest"] the code of the figure around it. */
const SHOWN_MS = 2000;

document.addEventListener("click", async (event) => {
  if (!(event.target instanceof Element)) return;
  const button = event.target.closest("[data-copy], [data-copy-from]");
  if (!(button instanceof HTMLElement)) return;
  const source = button.closest("figure")?.querySelector("pre");
  const text = button.dataset.copy ?? source?.textContent ?? "";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (source) getSelection()?.selectAllChildren(source);
    document.dispatchEvent(
      new CustomEvent("gangline:toast", {
        detail: { text: "The browser did not allow copying. Press Ctrl+C.", tone: "warn" },
      }),
    );
    return;
  }
  const words = [...button.childNodes].find((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim());
  if (!words || button.dataset.copied) return;
  const before = words.textContent;
  button.dataset.copied = "true";
  button.setAttribute("aria-live", "polite");
  words.textContent = "Copied";
  setTimeout(() => {
    words.textContent = before;
    delete button.dataset.copied;
  }, SHOWN_MS);
});
