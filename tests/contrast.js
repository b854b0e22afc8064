// Every text and every mark of a figure whose contrast with its ground is below what WCAG 2 asks for:
// 4.5 for text, 3 for marks. Faint lines and bands that carry no data (opacity below 0.3) are left out.
() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const colour = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return { r, g, b, a: a / 255 };
  };
  const over = (top, below, opacity = 1) => {
    const a = top.a * opacity;
    const mix = (key) => top[key] * a + below[key] * (1 - a);
    return { r: mix("r"), g: mix("g"), b: mix("b"), a: 1 };
  };
  const light = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map((part) => part / 255).map((p) => (p <= 0.04045 ? p / 12.92 : ((p + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ratio = (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (element) => {
    const chain = [];
    for (let at = element; at; at = at.parentElement) chain.push(colour(getComputedStyle(at).backgroundColor));
    return chain.reverse().reduce((below, top) => over(top, below), colour("white"));
  };
  const faded = (element) => {
    let opacity = 1;
    for (let at = element; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
    return opacity;
  };
  const poor = [];
  let checked = 0;
  const check = (what, drawn, below, least) => {
    checked += 1;
    const found = ratio(drawn, below);
    if (found < least) poor.push(`${what}: ${found.toFixed(2)}`);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.textContent.trim() || element.closest("script, svg, .unseen, .skip, option, noscript, :disabled")) continue;
    if (!element.checkVisibility()) continue;
    const below = ground(element);
    const ink = over(colour(getComputedStyle(element).color), below, faded(element));
    check(`${element.tagName}.${element.className} "${node.textContent.trim().slice(0, 30)}"`, ink, below, 4.5);
  }
  for (const button of document.querySelectorAll(".sort")) {
    const style = getComputedStyle(button, "::after");
    const below = ground(button);
    if (button.checkVisibility()) check(`arrow of ${button.textContent}`, over(colour(style.color), below, Number(style.opacity)), below, 3);
  }
  for (const svg of document.querySelectorAll("figure svg, svg.curve")) {
    const below = ground(svg);
    for (const shape of svg.querySelectorAll("path, use, line, polyline, rect, circle")) {
      if (shape.closest("defs, clipPath") || shape.getAttribute("class") === "halo") continue;
      const style = getComputedStyle(shape);
      const glyph = shape.getAttribute("href")?.startsWith("#glyph");
      for (const part of ["fill", "stroke"]) {
        const paint = style[part];
        const opacity = Number(style[`${part}Opacity`]) * Number(style.opacity);
        if (shape.tagName === "line" && part === "fill") continue;
        if (paint === "none" || paint.startsWith("url") || opacity < 0.3) continue;
        check(`${part} ${paint} ${opacity} in ${svg.closest("figure")?.querySelector("h3").textContent}`, over(colour(paint), below, opacity), below, glyph ? 4.5 : 3);
      }
    }
  }
  return { poor: [...new Set(poor)], checked };
};
