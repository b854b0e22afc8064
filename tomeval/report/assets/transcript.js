// One episode: its steps, and what was asked and said in each. What a step shows is for the view: that of
// the domain, or lines of text.
const transcript = {
  STEPS: 200, // shown at a time

  // Set by the script that follows this one:
  //   caption, columns   of the table of steps, columns as [heading, its class or null]
  //   title(cell, place)
  //   unpacked(cell, place, packed)   the episode; `steps` lists the number of each of its steps
  //   above(cell, episode), below(cell, episode)   elements around the table, null for nothing
  //   cells(cell, episode, i)   the columns of step i
  view: null,

  async open(number, place) {
    const cell = browser.index.get(number);
    const packed = await source.episode(number, cell, place);
    const episode = { ...packed, ...transcript.view.unpacked(cell, place, packed) };
    const area = document.getElementById("episode");
    area.hidden = false;
    dom.replace(
      area,
      ...transcript.head(number, place, cell, episode),
      transcript.table(episode),
      transcript.view.below(cell, episode),
    );
    transcript.more(area, cell, episode);
    area.scrollIntoView();
    area.focus({ preventScroll: true });
    browser.say(`Episode ${cell.episode[place]} is open, ${episode.steps.length} steps.`);
  },

  head(number, place, cell, episode) {
    const title = `Episode ${cell.episode[place]}: ${transcript.view.title(cell, place)}`;
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
      transcript.view.above(cell, episode),
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
    const heads = [["step", "number"], ...transcript.view.columns, ...(episode.calls.length ? [["questions", null]] : [])];
    return dom.make(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-labelledby": "episode-title" },
      dom.make(
        "table",
        {},
        dom.make("caption", {}, dom.make("span", { text: transcript.view.caption })),
        dom.make("thead", {}, dom.make("tr", {}, ...heads.map(([text, kind]) => dom.make("th", { scope: "col", class: kind, text })))),
        dom.make("tbody", { id: "step-rows" }),
      ),
      dom.make("p", { id: "more-steps" }),
    );
  },

  // Add the next steps to the table.
  more(area, cell, episode, first = 0) {
    const last = Math.min(first + transcript.STEPS, episode.steps.length);
    const rows = [];
    for (let i = first; i < last; i++) rows.push(transcript.row(cell, episode, i));
    area.querySelector("#step-rows").append(...rows);
    const place = area.querySelector("#more-steps");
    if (last === episode.steps.length) return place.replaceChildren();
    const button = dom.make("button", { type: "button", text: `Steps ${last + 1} to ${Math.min(last + transcript.STEPS, episode.steps.length)}` });
    button.addEventListener("click", () => transcript.more(area, cell, episode, last));
    return place.replaceChildren(button);
  },

  row(cell, episode, i) {
    const row = dom.make(
      "tr",
      {},
      dom.make("th", { scope: "row", class: "number", text: episode.steps[i] }),
      ...transcript.view.cells(cell, episode, i),
    );
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
