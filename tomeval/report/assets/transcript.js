// One episode: its steps, and what was asked and said in each.
const transcript = {
  STEPS: 200, // shown at a time

  async open(number, place) {
    const cell = browser.index[number];
    const chunk = await blocks.open(`chunk-${cell.chunk[place]}`);
    const episode = transcript.unpacked(cell, place, chunk[cell.place[place]]);
    episode.bases = episode.calls.length ? (await blocks.open("bases"))[number] : {};
    const area = document.getElementById("episode");
    area.hidden = false;
    dom.replace(area, ...transcript.head(number, place, cell, episode));
    transcript.more(area, cell, episode);
    area.scrollIntoView();
    area.focus({ preventScroll: true });
    browser.say(`Episode ${cell.episode[place]} is open, ${episode.steps} steps.`);
  },

  // The episode with its actions as numbers, null where there is none.
  unpacked(cell, place, packed) {
    const steps = cell.steps[place];
    const column = (text) =>
      Array.from({ length: steps }, (_, i) => {
        const code = text === undefined ? 47 : text.charCodeAt(i);
        return code === 47 ? null : code - 48;
      });
    const calls = packed.calls ?? [];
    return {
      ...packed,
      place,
      steps,
      own: column(packed.own),
      their: column(packed.their),
      predicted: column(packed.predicted),
      state: packed.state === undefined ? Array(steps).fill(0) : column(packed.state),
      probs: column(packed.probs),
      guess: column(packed.guess),
      calls,
      told: new Set(packed.told ?? []),
      reference: cell.reference[`${cell.partner[place]}:${steps}`],
      complete: cell.status[place] === "complete",
    };
  },

  reward(cell, episode, i) {
    return episode.own[i] === null ? null : cell.payoff[episode.own[i]][episode.their[i]][0];
  },

  // Regret against the best response over the episode; an episode that broke off has none.
  regret(cell, episode, i) {
    return episode.complete ? episode.reference[i] - transcript.reward(cell, episode, i) : null;
  },

  head(number, place, cell, episode) {
    const partner = cell.partners[cell.partner[place]];
    const title = `Episode ${cell.episode[place]}: ${cell.title} against ${partner}`;
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
    const values = cell.values;
    const facts = [
      cell.task,
      `${cell.status[place]}, ${episode.steps} steps`,
      `ToM % ${dom.number(values.tom_percent[place], 1)}`,
      `regret per step ${dom.number(values.delta_functional_per_step[place], 3)}`,
      `reward per step ${dom.number(values.reward_per_step[place], 3)}`,
    ];
    const silent = cell.calls.length > 0 && cell.calls[place] > 0 && !episode.calls.length;
    return [
      dom.make("h3", { id: "episode-title", text: title }),
      dom.make("p", { class: "small soft wide", text: facts.join(" · ") }),
      silent
        ? dom.make("p", { class: "small", text: `Its ${cell.calls[place]} prompts and replies are not in this file; tomeval transcript prints them from the run folder.` })
        : null,
      transcript.curve(cell, episode),
      dom.make("div", { class: "controls" }, step(-1, "Previous"), step(1, "Next"), transcript.all(episode), close),
      transcript.table(cell, episode),
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

  // Regret by step as a line.
  curve(cell, episode) {
    if (!episode.complete || episode.steps < 2) return null;
    const values = episode.own.map((_, i) => transcript.regret(cell, episode, i));
    const low = Math.min(0, ...values);
    const high = Math.max(0, ...values);
    const height = (value) => 95 - (90 * (value - low)) / (high - low || 1);
    const points = values.map((value, i) => `${(1000 * (i + 0.5)) / values.length},${height(value).toFixed(2)}`);
    const label = `Regret by step, from ${dom.number(low, 2)} to ${dom.number(high, 2)}; the dashed line is zero.`;
    return dom.make(
      "div",
      {},
      dom.svg(
        "svg",
        { class: "curve", viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img", "aria-label": label },
        dom.svg("line", { class: "zero", x1: 0, x2: 1000, y1: height(0), y2: height(0) }),
        dom.svg("polyline", { class: "regret", points: points.join(" ") }),
      ),
      dom.make("p", { class: "small soft", text: label, "aria-hidden": "true" }),
    );
  },

  COLUMNS: [
    ["step", true], ["chose", false], ["partner chose", false], ["predicted", false], ["reward", true],
    ["regret", true], ["lost in this step", true], ["acted on its prediction", false], ["questions", false],
  ],

  table(cell, episode) {
    const heads = transcript.COLUMNS.filter(([name]) => name !== "questions" || episode.calls.length);
    return dom.make(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-labelledby": "episode-title" },
      dom.make(
        "table",
        {},
        dom.make("caption", { text: "Regret is measured from the best response to this partner over the whole episode; what was lost in this step, with the partner's move held fixed." }),
        dom.make("thead", {}, dom.make("tr", {}, ...heads.map(([text, number]) => dom.make("th", { scope: "col", class: number ? "number" : null, text })))),
        dom.make("tbody", { id: "step-rows" }),
      ),
      dom.make("p", { id: "more-steps" }),
    );
  },

  // Add the next steps to the table.
  more(area, cell, episode, first = 0) {
    const last = Math.min(first + transcript.STEPS, episode.steps);
    const rows = [];
    for (let i = first; i < last; i++) rows.push(transcript.row(cell, episode, i));
    area.querySelector("#step-rows").append(...rows);
    const place = area.querySelector("#more-steps");
    if (last === episode.steps) return place.replaceChildren();
    const button = dom.make("button", { type: "button", text: `Steps ${last + 1} to ${Math.min(last + transcript.STEPS, episode.steps)}` });
    button.addEventListener("click", () => transcript.more(area, cell, episode, last));
    return place.replaceChildren(button);
  },

  row(cell, episode, i) {
    const own = episode.own[i];
    const their = episode.their[i];
    const predicted = episode.predicted[i];
    const asked = own !== null && predicted !== null;
    const right = asked ? predicted === their : null;
    const row = dom.make(
      "tr",
      {},
      dom.make("th", { scope: "row", class: "number", text: i + 1 }),
      transcript.answer(cell.own, own, episode, i, "act", episode.probs[i]),
      transcript.partner(cell, episode, i),
      transcript.answer(cell.their, predicted, episode, i, "predict", episode.guess[i], right),
      dom.make("td", { class: "number", text: transcript.plain(transcript.reward(cell, episode, i)) }),
      dom.make("td", { class: "number", text: transcript.plain(transcript.regret(cell, episode, i)) }),
      dom.make("td", { class: "number", text: transcript.plain(own === null ? null : cell.stepwise[own][their]) }),
      dom.make("td", { text: asked ? (cell.best[own][predicted] ? "yes" : "no") : "–" }),
    );
    if (episode.calls.length) row.append(transcript.questions(episode, i, row));
    return row;
  },

  // A number with three decimals at most.
  plain: (value) => (value === null ? "–" : String(Number(value.toFixed(3)))),

  partner(cell, episode, i) {
    const states = cell.states[cell.partner[episode.place]];
    const notes = [states.length > 1 ? `in state "${states[episode.state[i]]}"` : "", episode.told.has(i) ? "told to the subject" : ""];
    const small = notes.filter((note) => note !== "").join("; ");
    return dom.make("td", { text: cell.their[episode.their[i]] }, small ? dom.make("small", { text: small }) : null);
  },

  // An answer: the action, whether it was valid, how often it was asked for, its probabilities.
  answer(labels, action, episode, i, form, code, right = null) {
    const outcome = (episode[form] ?? {})[i];
    const cellOf = dom.make("td", {});
    if (action !== null) cellOf.append(labels[action]);
    else cellOf.append(outcome === undefined ? "not asked" : "nothing");
    if (right !== null) {
      cellOf.append(" ", dom.make("span", { class: right ? "right" : "wrong", text: right ? "✓" : "✗", "aria-hidden": "true" }));
      cellOf.append(dom.make("span", { class: "unseen", text: right ? " (right)" : " (wrong)" }));
    }
    if (outcome !== undefined) {
      cellOf.append(" ", dom.make("span", { class: "invalid", text: action === null ? outcome : `drawn at random, the answer was ${outcome}` }));
    }
    const tries = episode.attempts === undefined ? 1 : episode.attempts[form === "act" ? 0 : 1][i];
    const notes = [];
    if (tries > 1) notes.push(`asked ${tries} times`);
    if (code !== null) notes.push(labels.map((label, a) => `${label} ${dom.number(episode.book[code][a], 3)}`).join(", "));
    const reactions = form === "predict" ? (episode.react ?? {})[i] : undefined;
    if (reactions !== undefined) notes.push(`next, by own action: ${reactions.map((b) => (b < 0 ? "invalid" : labels[b])).join(", ")}`);
    if (notes.length) cellOf.append(dom.make("small", { text: notes.join("; ") }));
    return cellOf;
  },

  // The button of a step that shows its calls in a row below.
  questions(episode, i, row) {
    const count = episode.calls.filter((call) => call.s === i + 1).length;
    if (count === 0) return dom.make("td", { text: "–" });
    const below = `calls-${i + 1}`;
    const button = dom.make("button", { type: "button", "aria-expanded": "false", "aria-controls": below, text: `${count}` });
    button.append(dom.make("span", { class: "unseen", text: ` questions of step ${i + 1}` }));
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", open ? "false" : "true");
      if (open) {
        document.getElementById(below).remove();
        return;
      }
      const calls = episode.calls.flatMap((call, place) => (call.s === i + 1 ? [calling.show(episode, place)] : []));
      row.after(dom.make("tr", { id: below, class: "opened" }, dom.make("td", { colspan: row.cells.length }, ...calls)));
    });
    return dom.make("td", {}, button);
  },
};
