// The page asks what has changed, and takes over the parts that have.
const view = {
  EVERY: 1000, // milliseconds between two questions
  state: { parts: {}, trouble: "" }, // as the server said last
  shown: {}, // by part the version that is shown
  taking: new Set(), // the parts that are being fetched
  problem: "", // why the page may not be up to date

  async ask() {
    const answer = await fetch("state");
    if (!answer.ok) throw new Error(`the server says ${answer.status}`);
    view.state = await answer.json();
  },

  async round() {
    try {
      await view.ask();
      view.problem = view.state.trouble;
      for (const [name, version] of Object.entries(view.state.parts)) {
        if (view.shown[name] !== version) view.taken(name);
      }
    } catch (error) {
      view.fail(error);
    }
    view.say();
    setTimeout(view.round, view.EVERY);
  },

  fail(error) {
    const gone = error instanceof TypeError; // how fetch says that nobody answers
    view.problem = gone ? "The server does not answer: this is what it said last. Start tomeval view again to go on." : error.message;
  },

  // Take over a part beside all others: one that takes long to make, such as figures, holds up none.
  async taken(name) {
    if (view.taking.has(name)) return;
    view.taking.add(name);
    try {
      await view.take(name);
    } catch (error) {
      view.fail(error);
      view.say();
    } finally {
      view.taking.delete(name);
    }
  },

  // Fetch a part and show it, unless it reads the same.
  async take(name) {
    const answer = await fetch(`parts/${name}`);
    if (!answer.ok) throw new Error(`the server says ${answer.status}`);
    const { version, text } = await answer.json();
    view.shown[name] = version;
    const place = document.getElementById(`part-${name}`);
    if (place.dataset.text !== text) view.replace(place, text);
    const list = document.getElementById("by-cell");
    if (list === null) return;
    // A list of episodes that is new is filled; else it takes up what is new as often as the table.
    if (list.options.length === 0 && name === "episodes") await view.browse();
    else if (name === "results" && browser.cell !== null) await guarded(browser.refresh);
  },

  // Text that the server has escaped becomes elements here; the page's policy lets none of them act.
  replace(place, text) {
    const open = [...place.querySelectorAll("details[open]")].map((details) => details.querySelector("summary").textContent);
    const ids = [...place.querySelectorAll("details[open][id]")].map((details) => details.id);
    const chosen = tables.chosen(place);
    const scrolled = [...place.querySelectorAll(".scroll")].map((box) => [box.scrollTop, box.scrollLeft]);
    const focus = place.contains(document.activeElement) ? document.activeElement.id : "";
    const parsed = new DOMParser().parseFromString(text, "text/html");
    place.replaceChildren(...parsed.body.childNodes);
    place.dataset.text = text;
    for (const link of document.querySelectorAll(`nav a[href="#${place.id}"]`)) link.parentElement.hidden = text === "";
    for (const details of place.querySelectorAll("details")) {
      details.open = ids.includes(details.id) || open.includes(details.querySelector("summary").textContent);
    }
    tables.wire(place);
    tables.choose(place, chosen);
    place.querySelectorAll(".scroll").forEach((box, i) => scrolled[i] && box.scrollTo(scrolled[i][1], scrolled[i][0]));
    if (focus !== "") document.getElementById(focus)?.focus({ preventScroll: true });
  },

  // The list of episodes is there for the first time, or has other columns.
  async browse() {
    await guarded(browser.start);
  },

  say() {
    const said = document.getElementById("live-said");
    said.className = view.problem === "" ? "soft small" : "small stale";
    said.textContent = view.problem === "" ? "This page renews itself." : dom.seen(view.problem);
  },
};

view.round();
