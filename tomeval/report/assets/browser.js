// The list of episodes: choose a cell, narrow down, sort, open one. The address names what is open
// (#cell=3, #episode=3/17), so that a reader can point another one to a game.
const browser = {
  PAGE: 25,
  index: null, // by number of a cell what is known of it
  cell: null, // the number of the one shown
  wanted: null, // the number of the one to be shown next, until its data are there
  order: [], // places of the episodes listed, in the order shown
  page: 0,

  measures: [], // of the list: name, heading, digits, better (1 more, -1 less, 0 neither)
  orders: {}, // by name: what the reader chooses, and the key that sorts

  element: (name) => document.getElementById(name),
  say(text) {
    browser.element("episodes-said").textContent = dom.seen(text);
  },

  async start() {
    const form = browser.element("episodes-controls");
    form.addEventListener("submit", (event) => event.preventDefault());
    await browser.load();
    browser.element("by-cell").addEventListener("change", () =>
      guarded(() => browser.show(Number(browser.element("by-cell").value))),
    );
    for (const name of ["by-drawn", "by-status", "by-order"]) {
      browser.element(name)?.addEventListener("change", () => browser.list());
    }
    browser.element("earlier").addEventListener("click", () => browser.turn(-1));
    browser.element("later").addEventListener("click", () => browser.turn(1));
    browser.fillOrders();
    await browser.show(browser.wanted ?? [...browser.index.keys()][0]);
    await browser.follow();
  },

  async load() {
    const cells = await source.cells();
    browser.index = new Map(cells.map((cell) => [cell.number, browser.index?.get(cell.number) ?? cell]));
    browser.fillCells();
  },

  // Show what there is by now, at the same place.
  async refresh() {
    await browser.load();
    await browser.show(browser.wanted, browser.wanted === browser.cell ? browser.page : 0);
  },

  // By number, by the worst side of each measure, by invalid answers; what has no value comes last.
  fillOrders() {
    browser.measures = [...document.querySelectorAll("#episode-heads [data-measure]")].map((head) => ({
      name: head.dataset.measure,
      heading: head.textContent,
      digits: Number(head.dataset.digits),
      better: Number(head.dataset.better),
    }));
    browser.orders.number = { text: "number", key: (cell, i) => cell.episode[i] };
    for (const { name, heading, better } of browser.measures.filter((measure) => measure.better !== 0)) {
      browser.orders[name] = {
        text: `${better < 0 ? "largest" : "lowest"} ${heading}`,
        key: (cell, i) => (cell.values[name][i] === null ? Infinity : better * cell.values[name][i]),
      };
    }
    browser.orders.invalid = { text: "most invalid answers", key: (cell, i) => -cell.invalid[i] };
    dom.options(
      browser.element("by-order"),
      Object.entries(browser.orders).map(([value, order]) => [value, order.text]),
    );
  },

  fillCells() {
    const groups = new Map();
    for (const cell of browser.index.values()) {
      if (!groups.has(cell.task)) groups.set(cell.task, dom.make("optgroup", { label: cell.task }));
      groups.get(cell.task).append(dom.make("option", { value: cell.number, text: cell.title }));
    }
    dom.replace(browser.element("by-cell"), ...groups.values());
    if (browser.wanted !== null) browser.element("by-cell").value = browser.wanted;
  },

  // Open what the address names.
  async follow() {
    const [, kind, cell, episode] = /^#(cell|episode)=(\d+)(?:\/(\d+))?$/.exec(location.hash) ?? [];
    const number = Number(cell);
    if (kind === undefined || !browser.index.has(number)) return;
    if (browser.cell !== number) await browser.show(number);
    if (kind === "cell") {
      browser.element("episodes").scrollIntoView();
      browser.element("by-cell").focus({ preventScroll: true });
      return;
    }
    const place = browser.index.get(number).episode.indexOf(Number(episode));
    if (place < 0) browser.say(`There is no episode ${episode} in this cell.`);
    else await transcript.open(number, place);
  },

  async show(number, page = 0) {
    browser.wanted = number;
    const cell = await source.cell(number);
    if (browser.wanted !== number) return; // the reader has chosen another one meanwhile
    const same = browser.cell === number;
    browser.index.set(number, cell);
    browser.cell = number;
    browser.element("by-cell").value = number;
    browser.fillChoice("by-drawn", cell.drawn, same);
    browser.fillChoice("by-status", cell.status, same);
    browser.list(page);
  },

  fillChoice(name, values, kept) {
    const element = browser.element(name);
    if (element === null) return;
    const found = [...new Set(values)].sort();
    const before = kept && found.includes(element.value) ? element.value : "";
    dom.options(element, [["", "all"], ...found.map((value) => [value, value])]);
    element.value = before;
  },

  list(page = 0) {
    const cell = browser.index.get(browser.cell);
    const drawn = browser.element("by-drawn")?.value ?? "";
    const status = browser.element("by-status").value;
    const places = cell.episode
      .map((_, place) => place)
      .filter((i) => (drawn === "" || cell.drawn[i] === drawn) && (status === "" || cell.status[i] === status));
    const { key } = browser.orders[browser.element("by-order").value];
    const keys = cell.episode.map((_, place) => key(cell, place));
    places.sort((a, b) => (keys[a] === keys[b] ? a - b : keys[a] - keys[b]));
    browser.order = places;
    browser.page = Math.min(page, Math.max(0, Math.ceil(places.length / browser.PAGE) - 1));
    browser.turn(0);
  },

  turn(by) {
    browser.page += by;
    const first = browser.page * browser.PAGE;
    const shown = browser.order.slice(first, first + browser.PAGE);
    dom.replace(browser.element("episode-rows"), ...shown.map(browser.row));
    browser.element("earlier").disabled = browser.page === 0;
    browser.element("later").disabled = first + browser.PAGE >= browser.order.length;
    const count = browser.order.length;
    browser.say(
      count === 0
        ? "No episode matches."
        : `Episodes ${first + 1} to ${first + shown.length} of ${count.toLocaleString("en")}.`,
    );
  },

  row(place) {
    const cell = browser.index.get(browser.cell);
    const number = cell.episode[place];
    const link = dom.make("a", { href: `#episode=${browser.cell}/${number}`, text: `episode ${number}` });
    // The same address again does not count as a change, but the reader asks for it.
    link.addEventListener("click", () => location.hash === link.hash && guarded(browser.follow));
    const value = ({ name, digits }) =>
      dom.make("td", { class: "number", text: dom.number(cell.values[name]?.[place], digits) });
    const status = cell.status[place];
    return dom.make(
      "tr",
      {},
      dom.make("th", { scope: "row" }, link),
      browser.element("by-drawn") === null ? null : dom.make("td", { text: cell.drawn[place] }),
      dom.make("td", { text: status, class: status === "complete" ? "" : "invalid" }),
      dom.make("td", { class: "number", text: cell.steps[place] }),
      ...browser.measures.map(value),
      dom.make("td", { class: cell.invalid[place] ? "number invalid" : "number", text: cell.invalid[place] }),
      dom.make("td", { class: "number", text: cell.calls.length ? cell.calls[place] : "–" }),
    );
  },
};

// Run something that may fail, and say so where it does.
async function guarded(work) {
  try {
    await work();
  } catch (error) {
    browser.say(`This cannot be shown: ${error.message}`);
    throw error;
  }
}

window.addEventListener("hashchange", () => guarded(browser.follow));
