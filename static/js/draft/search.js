/*
 * <search-choice> narrows the cards or options of the field `data-in` to those that hold every word.
 * What is chosen stays in sight. Nothing that is typed here is sent.
 */
class SearchChoice extends HTMLElement {
  connectedCallback() {
    const input = this.querySelector("input");
    input?.addEventListener("input", (event) => {
      // It is no part of the draft: nothing has to be saved.
      event.stopPropagation();
      this.narrow(input.value);
    });
    input?.addEventListener("change", (event) => event.stopPropagation());
    input?.addEventListener("keydown", (event) => {
      if (event.key === "Enter") event.preventDefault();
    });
  }

  /** @param {string} text */
  narrow(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const place = document.getElementById(this.dataset.in ?? "");
    const choices = [...(place?.querySelectorAll(".card-slot, option") ?? [])];
    let shown = 0;
    for (const choice of choices) {
      const chosen = choice instanceof HTMLOptionElement ? choice.selected : choice.querySelector("input")?.checked;
      const said = choice.textContent?.toLowerCase() ?? "";
      const fits = words.every((word) => said.includes(word));
      if (fits) shown += 1;
      choice.toggleAttribute("hidden", !fits && !chosen);
    }
    const status = this.querySelector("[role=status]");
    if (status) status.textContent = words.length ? `${shown} of ${choices.length} shown` : "";
  }
}

customElements.define("search-choice", SearchChoice);
