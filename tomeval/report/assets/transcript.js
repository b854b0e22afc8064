// One episode as lines of text: the first line of each step beside the others, if any step has more than one;
// what is said before and after all steps around the table; and what was asked and said in each step.
const transcript = {
  STEPS: 200, // shown at a time

  async open(number, place) {
    const cell = browser.index.get(number);
    const packed = await source.episode(number, cell, place);
    const numbers = new Set([...Object.keys(packed.steps).map(Number), ...packed.calls.map((call) => call.s)]);
    const episode = { ...packed, steps: [...numbers].sort((a, b) => a - b), lines: packed.steps };
    episode.wide = Object.values(episode.lines).some((lines) => lines.length > 1);
    const area = document.getElementById("episode");
    area.hidden = false;
    dom.replace(
      area,
      ...transcript.head(number, place, cell, episode),
      transcript.table(episode),
      transcript.text(episode.tail, "lines"), // it may be laid out by spaces, such as a board
    );
    transcript.more(area, episode);
    area.scrollIntoView();
    area.focus({ preventScroll: true });
    browser.say(`Episode ${cell.episode[place]} is open, ${episode.steps.length} steps.`);
  },

  head(number, place, cell, episode) {
    const title = `Episode ${cell.episode[place]}: ${cell.title}`;
    const at = browser.order.indexOf(place);
    const step = (by, text) => {
      const other = at < 0 ? undefined : browser.order[at + by];
      const button = dom.make("button", { type: "button", text, disabled: other === undefined });
      button.addEventListener("click", () => {
        location.hash = `#episode=${number}/${cell.episode[other]}`;
      });
      return button;
    };
    const close = dom.make("button", { type: "button", text: "Close" });
    close.addEventListener("click", () => {
      document.getElementById("episode").hidden = true;
      browser.element("by-cell").focus();
      history.replaceState(null, "", "#episodes");
    });
    const facts = [
      cell.task,
      `${cell.status[place]}, ${cell.steps[place]} steps`,
      ...browser.measures.map(({ name, heading, digits }) => `${heading} ${dom.number(cell.values[name]?.[place], digits)}`),
    ].filter((text) => text !== "");
    const silent = cell.calls.length > 0 && cell.calls[place] > 0 && !episode.calls.length;
    return [
      dom.make("h3", { id: "episode-title", text: title }),
      dom.make("p", { class: "small soft wide", text: facts.join(" · ") }),
      silent
        ? dom.make("p", { class: "small", text: `Its ${cell.calls[place]} prompts and replies are not in this file; tomeval transcript prints them from the run folder.` })
        : null,
      transcript.text(episode.head, "lines wrapped"),
      dom.make("div", { class: "controls" }, step(-1, "Previous"), step(1, "Next"), transcript.all(episode), close),
    ];
  },

  // A button that opens or closes the questions of all steps shown.
  all(episode) {
    if (!episode.calls.length) return null;
    const button = dom.make("button", { type: "button", text: "Show all questions and replies" });
    button.addEventListener("click", () => {
      const open = button.textContent.startsWith("Show");
      button.textContent = `${open ? "Hide" : "Show"} all questions and replies`;
      for (const other of document.querySelectorAll("#episode button[aria-expanded]")) {
        if ((other.getAttribute("aria-expanded") === "true") !== open) other.click();
      }
    });
    return button;
  },

  table(episode) {
    const heads = [["step", "number"], ["played", "told"]];
    if (episode.wide) heads.push(["outcome", "told"]);
    if (episode.calls.length) heads.push(["questions", null]);
    return dom.make(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-labelledby": "episode-title" },
      dom.make(
        "table",
        {},
        dom.make("caption", {}, dom.make("span", { text: "What was played step by step." })),
        dom.make("thead", {}, dom.make("tr", {}, ...heads.map(([text, kind]) => dom.make("th", { scope: "col", class: kind, text })))),
        dom.make("tbody", { id: "step-rows" }),
      ),
      dom.make("p", { id: "more-steps" }),
    );
  },

  // Add the next steps to the table.
  more(area, episode, first = 0) {
    const last = Math.min(first + transcript.STEPS, episode.steps.length);
    const rows = [];
    for (let i = first; i < last; i++) rows.push(transcript.row(episode, i));
    area.querySelector("#step-rows").append(...rows);
    const place = area.querySelector("#more-steps");
    if (last === episode.steps.length) return place.replaceChildren();
    const button = dom.make("button", { type: "button", text: `Steps ${last + 1} to ${Math.min(last + transcript.STEPS, episode.steps.length)}` });
    button.addEventListener("click", () => transcript.more(area, episode, last));
    return place.replaceChildren(button);
  },

  text: (lines, kind) =>
    lines.length ? dom.make("pre", { class: kind, dir: "auto", tabindex: 0, text: lines.join("\n") }) : null,

  row(episode, i) {
    const [first = "", ...others] = episode.lines[episode.steps[i]] ?? [];
    const said = (...lines) => dom.make("td", { class: "told" }, ...lines.map((text) => dom.make("div", { dir: "auto", text })));
    const row = dom.make("tr", {}, dom.make("th", { scope: "row", class: "number", text: episode.steps[i] }), said(first));
    if (episode.wide) row.append(said(...others));
    if (episode.calls.length) row.append(transcript.questions(episode, episode.steps[i], row));
    return row;
  },

  // The button of a step that shows its calls in a row below.
  questions(episode, step, row) {
    const count = episode.calls.filter((call) => call.s === step).length;
    if (count === 0) return dom.make("td", { text: "–" });
    const below = `calls-${step}`;
    const button = dom.make("button", { type: "button", "aria-expanded": "false", "aria-controls": below, text: `${count}` });
    button.append(dom.make("span", { class: "unseen", text: ` questions of step ${step}` }));
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", open ? "false" : "true");
      if (open) {
        document.getElementById(below).remove();
        return;
      }
      const calls = episode.calls.flatMap((call, place) => (call.s === step ? [calling.show(episode, place)] : []));
      row.after(dom.make("tr", { id: below, class: "opened" }, dom.make("td", { colspan: row.cells.length }, ...calls)));
    });
    return dom.make("td", {}, button);
  },
};
