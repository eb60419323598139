/*
 * <file-text> puts the text of a file into the field `data-in`, in place of what stands there; nothing
 * else of the file is sent. What is no text, or too long, leaves the field as it is.
 */
class FileText extends HTMLElement {
  connectedCallback() {
    const input = this.querySelector("input");
    if (!input) return;
    input.addEventListener("input", (event) => event.stopPropagation());
    input.addEventListener("change", async (event) => {
      // The choice itself is no part of the draft.
      event.stopPropagation();
      const file = input.files?.[0];
      input.value = "";
      if (file) this.say(await this.take(file));
    });
  }

  /** @param {File} file */
  async take(file) {
    const longest = Number(this.dataset.longest);
    // In UTF-8 a character has four bytes at most.
    if (file.size > 4 * longest) return `${file.name} is too long: the field takes ${longest} characters.`;
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    } catch {
      return `${file.name} cannot be read as text.`;
    }
    if (text.includes("\0")) return `${file.name} is no text.`;
    text = text.replaceAll("\r\n", "\n");
    if (text.length > longest) return `${file.name} is too long: the field takes ${longest} characters.`;
    const field = document.getElementById(this.dataset.in ?? "");
    if (!(field instanceof HTMLTextAreaElement)) return "";
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.dispatchEvent(new Event("change", { bubbles: true }));
    const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
    return `${file.name}: ${lines} ${lines === 1 ? "line" : "lines"}.`;
  }

  /** @param {string} text */
  say(text) {
    const status = this.querySelector("[role=status]");
    if (status) status.textContent = text;
  }
}

customElements.define("file-text", FileText);
