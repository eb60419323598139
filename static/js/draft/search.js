/*
 * <search-choice> narrows the cards or options of the field `data-in` to those that hold every word
 * and are of the chosen type and scope, and sorts the cards. What is chosen stays in sight. Nothing
 * that is said here is sent.
 */
class SearchChoice extends HTMLElement {
  /** @type {Map<Element, string>} */ said = new Map();

  connectedCallback() {
    this.addEventListener("input", (event) => {
      // It is no part of the draft: nothing has to be saved.
      event.stopPropagation();
      this.said = new Map(this.controls.map((control) => [control, control.value]));
      this.arrange();
    });
    this.addEventListener("change", (event) => event.stopPropagation());
    this.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target instanceof HTMLInputElement) event.preventDefault();
    });
    // A step that is drawn anew comes as the server has it.
    document.addEventListener("gangline:drawn", () => {
      if (!this.isConnected || !this.said.size) return;
      for (const [control, text] of this.said) /** @type {HTMLInputElement} */ (control).value = text;
      this.arrange();
    });
  }

  /** @returns {(HTMLInputElement | HTMLSelectElement)[]} */
  get controls() {
    return [...this.querySelectorAll("input, select")].map((one) => /** @type {HTMLInputElement} */ (one));
  }

  arrange() {
    const place = document.getElementById(this.dataset.in ?? "");
    const choices = [...(place?.querySelectorAll(place.localName === "select" ? "option" : ".card-slot") ?? [])];
    this.sort(/** @type {HTMLElement[]} */ (choices));
    const words = (this.querySelector("input")?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const by = /** @type {HTMLSelectElement[]} */ ([...this.querySelectorAll("select[data-by]")]).filter(({ value }) => value);
    let shown = 0;
    for (const choice of /** @type {HTMLElement[]} */ (choices)) {
      const chosen = choice instanceof HTMLOptionElement ? choice.selected : choice.querySelector("input")?.checked;
      const said = choice.textContent?.toLowerCase() ?? "";
      const fits = words.every((word) => said.includes(word)) && by.every(({ dataset, value }) => choice.dataset[dataset.by ?? ""] === value);
      if (fits) shown += 1;
      choice.toggleAttribute("hidden", !fits && !chosen);
    }
    const status = this.querySelector("[role=status]");
    if (status) status.textContent = words.length || by.length ? `${shown} of ${choices.length} shown` : "";
  }

  /** What stands for none of them stays first. @param {HTMLElement[]} cards */
  sort(cards) {
    const order = /** @type {HTMLSelectElement | null} */ (this.querySelector("[data-sort]"))?.value;
    if (!order) return;
    const name = (/** @type {HTMLElement} */ card) => card.querySelector("b")?.textContent ?? "";
    const rank = (/** @type {HTMLElement} */ card) => (order === "name" ? 0 : Number(card.dataset[order] ?? 0));
    const sorted = cards
      .filter((card) => card.dataset.scope)
      .sort((one, other) => rank(other) - rank(one) || name(one).localeCompare(name(other)));
    if (cards.filter((card) => card.dataset.scope).some((card, place) => card !== sorted[place])) cards[0].parentElement?.append(...sorted);
  }
}

customElements.define("search-choice", SearchChoice);
