// Small tools. Text enters the page through textContent alone, so it is never read as markup.
const dom = {
  // An element with attributes and children: texts, elements, or null for nothing.
  make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "text") element.textContent = dom.seen(value);
      else if (value === true) element.setAttribute(name, "");
      else if (value === false || value === null) continue;
      else element.setAttribute(name, name === "value" ? String(value) : dom.seen(value));
    }
    element.append(...children.filter((child) => child !== null).map(dom.seen));
    return element;
  },

  // A text with escapes for characters that act or are not seen, as everywhere else; elements stay.
  seen(value) {
    if (value instanceof Node) return value;
    const escaped = (char) => {
      const code = char.codePointAt(0);
      const [mark, width] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
      return `\\${mark}${code.toString(16).padStart(width, "0")}`;
    };
    return String(value).replace(UNSEEN, escaped);
  },

  svg(tag, attributes = {}, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
    element.append(...children);
    return element;
  },

  replace(element, ...children) {
    element.replaceChildren(...children.filter((child) => child !== null).map(dom.seen));
  },

  options(select, pairs) {
    dom.replace(select, ...pairs.map(([value, text]) => dom.make("option", { value, text })));
  },

  // A number as the tables show it; a dash where there is none.
  number(value, digits) {
    return value === null || value === undefined ? "–" : value.toFixed(digits).replace("-", "−");
  },
};
