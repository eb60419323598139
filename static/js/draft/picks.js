/* <pick-filter> above a long gallery: shows the cards of one type, and those that a text is in. */
class PickFilter extends HTMLElement {
  connectedCallback() {
    this.hidden = false;
    this.addEventListener("input", (event) => {
      // What is looked for is no text of the draft.
      event.stopPropagation();
      this.show();
    });
    this.addEventListener("change", (event) => event.stopPropagation());
  }

  show() {
    const text = this.querySelector("input")?.value.trim().toLowerCase() ?? "";
    const kind = this.querySelector("select")?.value ?? "";
    for (const card of this.parentElement?.querySelectorAll(".card-slot") ?? []) {
      const isOther = Boolean(kind) && /** @type {HTMLElement} */ (card).dataset.kind !== kind;
      const isChosen = card.querySelector("input:checked") !== null;
      const matches = card.textContent?.toLowerCase().includes(text);
      /** @type {HTMLElement} */ (card).hidden = !isChosen && (isOther || !matches);
    }
  }
}

customElements.define("pick-filter", PickFilter);
