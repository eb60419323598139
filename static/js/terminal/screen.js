/* xterm.js within our content security policy, which takes no style that a script writes as text. */
import { Terminal } from "../../vendor/xterm.js";
import { FitAddon } from "../../vendor/xterm-fit.js";

const create = document.createElement.bind(document);
/** Rules go into a sheet of their own; the element in their place holds nothing. @param {string} name */
const made = (name) => {
  const element = create(name === "style" ? "template" : name);
  if (name !== "style") return element;
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  Object.defineProperty(element, "textContent", {
    get: () => "",
    set: (/** @type {string} */ text) => sheet.replaceSync(text),
  });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    Element.prototype.remove.call(element);
  };
  return element;
};
document.createElement = /** @type {typeof document.createElement} */ (made);

const setAttribute = HTMLElement.prototype.setAttribute;
/** What would be a style as text becomes properties, on this page. @param {string} key @param {string} value */
HTMLElement.prototype.setAttribute = function setWithoutStyleText(key, value) {
  if (key === "style") this.style.cssText = value;
  else setAttribute.call(this, key, value);
};

/** Colours of the page as xterm.js reads them. @param {Element} place */
const colours = (place) => {
  const probe = document.createElement("span");
  place.append(probe);
  const of = (/** @type {string} */ token) => {
    probe.style.color = `var(${token})`;
    return getComputedStyle(probe).color;
  };
  const tones = {
    background: of("--sunk"), foreground: of("--ink"), cursor: of("--action"), cursorAccent: of("--sunk"),
    selectionBackground: of("--action-soft"), black: of("--ink"), red: of("--bad"), green: of("--good"),
    yellow: of("--warn"), blue: of("--info"), magenta: of("--action-strong"), cyan: of("--action"), white: of("--ink-2"),
    brightBlack: of("--ink-3"), brightRed: of("--bad"), brightGreen: of("--good"), brightYellow: of("--warn"),
    brightBlue: of("--info"), brightMagenta: of("--action-strong"), brightCyan: of("--action"), brightWhite: of("--ink"),
  };
  probe.remove();
  return tones;
};

// Cells are measured once: with the font that they will have.
await document.fonts.load('13px "JetBrains Mono Variable"').catch(() => []);

/** A screen in ``place`` that fills it. @param {HTMLElement} place @param {string} label */
export const screenIn = (place, label) => {
  const style = getComputedStyle(document.documentElement);
  const terminal = new Terminal({
    fontFamily: style.getPropertyValue("--mono"), fontSize: 13, theme: colours(place),
    scrollback: 5000, screenReaderMode: true, cursorBlink: false, minimumContrastRatio: 4.5, linkHandler: { activate: () => {} },
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(place);
  terminal.textarea?.setAttribute("aria-label", `${label}. Ctrl+Alt+Escape leaves it.`);
  // Programs in a pod do not reach the clipboard, and change no title.
  terminal.parser.registerOscHandler(52, () => true);
  new ResizeObserver(() => fit.fit()).observe(place);
  const redraw = () => {
    const theme = colours(place);
    terminal.options.theme = theme;
    // Its own style sheet draws what lies around the cells black.
    const around = /** @type {HTMLElement | null} */ (place.querySelector(".xterm-viewport"));
    if (around) around.style.backgroundColor = theme.background;
  };
  redraw();
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  fit.fit();
  return terminal;
};
