/** Wrap and times: switches of this browser, kept for the next log. */

const KEPT = "gangline.log";
const CLASSES = /** @type {Object<string, [string, boolean]>} */ ({ wrap: ["wrapped", true], times: ["timeless", false] });

export class Switches {
  /** @param {HTMLElement} view @param {Object<string, HTMLElement>} buttons by name @param {(change: () => void) => void} around */
  constructor(view, buttons, around) {
    this.view = view;
    this.buttons = buttons;
    const kept = JSON.parse(localStorage.getItem(KEPT) ?? "{}");
    // On a phone nobody wants to scroll sideways for every line.
    this.set("wrap", kept.wrap ?? matchMedia("(max-width: 52rem)").matches);
    this.set("times", kept.times !== false);
    for (const [name, button] of Object.entries(buttons)) {
      button.addEventListener("click", () => {
        around(() => this.set(name, !this.isOn(name)));
        const now = Object.keys(buttons).map((one) => [one, this.isOn(one)]);
        localStorage.setItem(KEPT, JSON.stringify(Object.fromEntries(now)));
      });
    }
  }

  /** @param {string} name */
  isOn(name) {
    return this.buttons[name].ariaPressed === "true";
  }

  /** @param {string} name @param {boolean} on */
  set(name, on) {
    const [className, whenOn] = CLASSES[name];
    this.buttons[name].ariaPressed = String(on);
    this.view.classList.toggle(className, on === whenOn);
  }
}
