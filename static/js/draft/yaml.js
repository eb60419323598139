/*
 * <yaml-editor> around a text area: the numbers of its lines stand beside it, those with problems
 * marked. A press on a told line (`data-line`) takes the cursor there. Tab leaves, as everywhere.
 */
class YamlEditor extends HTMLElement {
  connectedCallback() {
    this.numbers = document.createElement("div");
    this.numbers.className = "editor-numbers";
    this.numbers.setAttribute("aria-hidden", "true");
    this.prepend(this.numbers);
    this.area.addEventListener("input", () => this.draw());
    this.area.addEventListener("scroll", () => this.follow());
    this.told?.addEventListener("click", (event) => this.goTo(event));
    if (this.told) new MutationObserver(() => this.draw()).observe(this.told, { childList: true, subtree: true });
    this.draw();
  }

  /** @returns {HTMLTextAreaElement} */
  get area() {
    return /** @type {HTMLTextAreaElement} */ (this.querySelector("textarea"));
  }

  /** What is said about lines. */
  get told() {
    return document.getElementById(`${this.area.id}-e`);
  }

  draw() {
    const lines = [...(this.told?.querySelectorAll("[data-line]") ?? [])];
    const bad = new Set(lines.map((line) => Number(line.getAttribute("data-line"))));
    const count = this.area.value.split("\n").length;
    this.numbers?.replaceChildren(
      ...Array.from({ length: count }, (_, index) => {
        const number = document.createElement("div");
        number.textContent = String(index + 1);
        number.classList.toggle("bad", bad.has(index + 1));
        return number;
      }),
    );
    this.follow();
  }

  follow() {
    if (this.numbers) this.numbers.scrollTop = this.area.scrollTop;
  }

  /** @param {Event} event */
  goTo(event) {
    const line = event.target instanceof Element ? event.target.closest("[data-line]") : null;
    if (!line) return;
    const before = this.area.value.split("\n").slice(0, Number(line.getAttribute("data-line")) - 1);
    const start = before.reduce((sum, text) => sum + text.length + 1, 0);
    const end = this.area.value.indexOf("\n", start);
    this.area.focus();
    this.area.setSelectionRange(start, end < 0 ? this.area.value.length : end);
    this.area.scrollTop = (before.length - 3) * parseFloat(getComputedStyle(this.area).lineHeight);
  }
}

customElements.define("yaml-editor", YamlEditor);
