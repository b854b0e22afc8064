// A game of the arena: decision by decision, all of it or what one seat knew, at once or step by step.
transcript.view = {
  caption: "",
  columns: [],

  EVERYTHING: "everything",
  PUBLIC: "public",
  seen: "everything", // or "public", or the number of a seat
  at: null, // how many rows are shown; null: all
  game: null, // [cell, episode] that is open

  title: (cell) => cell.title,

  // The rows of a game: the deal, then every decision. Seats that say nothing one after the other share a
  // row, unless a model was asked or something went wrong.
  unpacked(cell, place, packed) {
    const { view } = transcript;
    const rows = [];
    const events = new Map();
    for (const [step, text, to, own] of packed.events ?? []) {
      if (!events.has(step)) events.set(step, []);
      events.get(step).push({ text, to, own: own === 1 });
    }
    if (events.has(0)) rows.push({ step: "deal", round: "", events: events.get(0) });
    const asked = new Set(packed.calls.map((call) => call.s));
    let silent = null;
    for (const turn of packed.turns ?? []) {
      const mine = events.get(turn.n) ?? [];
      const quiet = turn.q === 1 && mine.length === 1 && !asked.has(turn.n) && !turn.t && !turn.v && !turn.p && !view.lost(turn);
      if (quiet && silent !== null && silent.round === turn.r) {
        silent.step = turn.n;
        silent.silent.push(turn.s);
        continue;
      }
      const row = { step: turn.n, round: turn.r, seat: turn.s, turn, events: mine };
      if (quiet) row.silent = [turn.s];
      silent = quiet ? row : null;
      rows.push(row);
    }
    view.at = null;
    view.seen = view.EVERYTHING;
    const valued = (packed.turns ?? []).some((turn) => turn.w);
    const predicts = (packed.turns ?? []).some((turn) => turn.p);
    view.columns = [[cell.round, "number"], ["who", null], ["what happened", "told"]];
    if (valued) view.columns.push(["V*", "number"], ["Q*", "number"], ["regret", "number"]);
    if (predicts) view.columns.push([`predictions of ${cell.seats[packed.me]}`, "told"]);
    view.caption =
      "Marked lines are private: only the seats named in front of them knew." +
      (valued ? " V* is what the measured seat could attain from there, Q* what its choice attains, both against these players; regret is the difference." : "");
    return { ...packed, steps: rows.map((row) => row.step), rows, valued, predicts, seats: cell.seats };
  },

  // Whether a decision is known to have cost something.
  lost: (turn) => turn.w !== undefined && (turn.w[2] === null || turn.w[2][1] !== 0),

  name: (episode, seat) => `${episode.seats[seat]} (${episode.who[seat]})`,

  // Who sits where, and what to show.
  above(cell, episode) {
    const { view } = transcript;
    if (episode.untold) {
      return dom.make("p", { class: "small", text: "What happened in this game is not in this file; tomeval transcript prints it from the run folder." });
    }
    view.game = [cell, episode];
    return dom.make("div", {}, view.players(cell, episode), view.controls(cell, episode));
  },

  players(cell, episode) {
    const { view } = transcript;
    const roles = new Set(episode.roles).size > 1;
    const heads = ["seat", "player", ...(roles ? ["role"] : []), "reward", "share of the win"];
    const row = (name, seat) =>
      dom.make(
        "tr",
        { class: seat === episode.me ? "mine" : null },
        dom.make("th", { scope: "row", text: name }),
        dom.make("td", { text: episode.who[seat] + (seat === episode.me ? ", measured" : "") }),
        roles ? dom.make("td", { "data-role": seat, text: episode.roles[seat] }) : null,
        dom.make("td", { class: "number", text: episode.pay.length ? view.plain(episode.pay[seat]) : "–" }),
        dom.make("td", { class: "number", text: episode.won.length ? view.plain(episode.won[seat]) : "–" }),
      );
    const meaning = cell.endings[episode.end];
    const ending = episode.end === "" ? "The game did not come to an end." : `Ending: ${episode.end.replaceAll("_", " ")}${meaning ? ` (${meaning})` : ""}.`;
    return dom.make(
      "div",
      { class: "scroll" },
      dom.make(
        "table",
        {},
        dom.make("caption", {}, dom.make("span", { text: ending })),
        dom.make("thead", {}, dom.make("tr", {}, ...heads.map((text, i) => dom.make("th", { scope: "col", class: i > heads.length - 3 ? "number" : null, text })))),
        dom.make("tbody", {}, ...cell.seats.map(row)),
      ),
    );
  },

  controls(cell, episode) {
    const { view } = transcript;
    const seen = dom.make("select", { id: "seen" });
    dom.options(seen, [
      [view.EVERYTHING, "everything"],
      [view.PUBLIC, "what is public"],
      ...cell.seats.map((name, seat) => [seat, `what ${view.name(episode, seat)} knew`]),
    ]);
    seen.addEventListener("change", () => {
      view.seen = [view.EVERYTHING, view.PUBLIC].includes(seen.value) ? seen.value : Number(seen.value);
      view.show();
    });
    const button = (id, text, to) => {
      const made = dom.make("button", { type: "button", id, text });
      made.addEventListener("click", () => view.go(to()));
      return made;
    };
    const last = episode.rows.length;
    return dom.make(
      "div",
      { class: "controls" },
      dom.make("label", { text: "Show " }, seen),
      button("step-first", "From the start", () => 1),
      button("step-back", "Step back", () => view.near(-1)),
      button("step-on", "Step on", () => view.near(1)),
      button("step-all", "Whole game", () => null),
      dom.make("span", { id: "step-said", class: "said", role: "status", text: `All ${last} rows are shown.` }),
    );
  },

  below: () => null,

  // The next row, in either direction, that holds something for the reader.
  near(by) {
    const { view } = transcript;
    const [, { rows }] = view.game;
    let at = (view.at ?? rows.length) + by;
    while (at > 1 && at < rows.length && !view.known(rows[at - 1])) at += by;
    return Math.min(Math.max(at, 1), rows.length);
  },

  go(at) {
    const { view } = transcript;
    view.at = at;
    while (at !== null && document.querySelectorAll("#step-rows > tr:not(.opened)").length < at) {
      document.querySelector("#more-steps button").click();
    }
    view.show();
    const now = document.querySelector("#step-rows > tr.now");
    if (now !== null) now.scrollIntoView({ block: "nearest" });
  },

  // Whether the reader sees what these seats know (null: all).
  open(to) {
    const { seen, EVERYTHING, PUBLIC } = transcript.view;
    return seen === EVERYTHING || to === null || (seen !== PUBLIC && to.includes(seen));
  },

  known(row) {
    const { view } = transcript;
    const own = row.turn !== undefined && row.silent === undefined && view.open([row.seat]);
    return own || row.events.some((event) => view.open(event.to));
  },

  // Hide what the reader does not want to see.
  show() {
    const { view } = transcript;
    const [, episode] = view.game;
    let i = 0;
    for (const element of document.querySelectorAll("#step-rows > tr")) {
      const calls = element.classList.contains("opened");
      if (!calls) i += 1;
      const row = episode.rows[i - 1];
      const beyond = view.at !== null && i > view.at;
      element.hidden = beyond || !(calls ? view.open([row.seat]) : view.known(row));
      if (!calls) element.classList.toggle("now", i === view.at);
    }
    for (const element of document.querySelectorAll("#step-rows [data-to]")) {
      element.hidden = !view.open(JSON.parse(element.dataset.to));
    }
    for (const button of document.querySelectorAll("#step-rows button[aria-expanded]")) {
      const seat = button.closest("tr").querySelector("[data-seat]");
      button.hidden = seat !== null && !view.open([Number(seat.dataset.seat)]);
    }
    for (const element of document.querySelectorAll("#episode [data-role]")) {
      element.textContent = view.open([Number(element.dataset.role)]) ? dom.seen(episode.roles[element.dataset.role]) : "not known";
    }
    const last = episode.rows.length;
    document.getElementById("step-said").textContent = view.at === null ? `All ${last} rows are shown.` : `Row ${view.at} of ${last}.`;
  },

  cells(cell, episode, i) {
    const { view } = transcript;
    const row = episode.rows[i];
    const found = [dom.make("td", { class: "number", text: row.round }), view.who(episode, row), view.happened(episode, row)];
    const turn = row.turn ?? {};
    const mine = (attributes) => ({ ...attributes, "data-to": JSON.stringify([row.seat ?? -1]) });
    if (episode.valued) {
      for (const value of [0, 1, 2]) {
        const text = turn.w === undefined || row.silent ? "" : view.bound(turn.w[value]);
        found.push(dom.make("td", { class: "number" }, dom.make("span", mine({ text }))));
      }
    }
    if (episode.predicts) found.push(dom.make("td", { class: "told" }, ...(turn.p ?? []).map((probe) => view.probe(probe, mine({})))));
    // Rows that come later obey what was chosen before.
    setTimeout(() => view.game !== null && (view.seen !== view.EVERYTHING || view.at !== null) && i % transcript.STEPS === 0 && view.show());
    return found;
  },

  who(episode, row) {
    if (row.turn === undefined) return dom.make("td", {});
    if (row.silent !== undefined && row.silent.length > 1) return dom.make("td", { text: "several" });
    // Who decided is known to those who know of the decision.
    const to = row.events.find((event) => event.own)?.to;
    const name = dom.make("span", { "data-to": JSON.stringify(to === undefined ? [row.seat] : to) }, episode.seats[row.seat]);
    name.append(dom.make("small", { text: episode.who[row.seat] }));
    return dom.make("td", { "data-seat": row.seat }, name);
  },

  happened(episode, row) {
    const { view } = transcript;
    if (row.silent !== undefined) {
      const names = [...new Set(row.silent)].map((seat) => episode.seats[seat]);
      const text = names.length === episode.seats.length ? "nobody says anything" : `${names.join(", ")} ${names.length > 1 ? "say" : "says"} nothing`;
      return dom.make("td", { class: "told" }, dom.make("div", { class: "soft", text }));
    }
    const lines = [];
    const { turn } = row;
    const line = (text, to, kind = null) => lines.push(dom.make("div", { class: kind, dir: "auto", "data-to": JSON.stringify(to), text }));
    const own = row.events.filter((event) => event.own);
    for (const event of own) lines.push(view.event(episode, event));
    if (turn !== undefined) {
      if (!own.length) line(`${turn.k.replaceAll("_", " ")}: ${turn.a ?? "nothing"}`, [row.seat]);
      for (const [error, why] of turn.t ?? []) line(`refused attempt, ${error} error: ${why}`, [row.seat], "invalid");
      if (turn.v !== undefined) line(view.verdict(turn), [row.seat], "invalid");
    }
    for (const event of row.events) if (!event.own) lines.push(view.event(episode, event));
    return dom.make("td", { class: "told" }, ...lines);
  },

  verdict: (turn) => `${transcript.view.game?.[0].verdicts[turn.v] ?? turn.v} (${turn.o.replaceAll("_", " ")})`,

  event(episode, { text, to }) {
    const attributes = { dir: "auto", "data-to": JSON.stringify(to) };
    if (to === null) return dom.make("div", { ...attributes, text });
    const names = to.length ? `only ${to.map((seat) => episode.seats[seat]).join(", ")}` : "hidden";
    return dom.make("div", { ...attributes, class: "private" }, dom.make("small", { text: names }), text);
  },

  probe([question, said, truth, hit, probability, observer, attainable, valid], attributes) {
    const { view } = transcript;
    const percent = (value) => `${Math.round(100 * value)} %`;
    const line = dom.make("div", { ...attributes, dir: "auto" }, dom.make("span", { class: "soft", text: `${question}: ` }));
    line.append(dom.make("span", { class: valid === 1 ? null : "invalid", text: said }));
    if (hit !== null) {
      line.append(" ", dom.make("span", { class: hit === 1 ? "right" : "wrong", text: hit === 1 ? "✓" : "✗", "aria-hidden": "true" }));
      line.append(dom.make("span", { class: "unseen", text: hit === 1 ? " (right)" : " (wrong)" }));
    }
    const notes = [];
    if (truth !== "" && hit !== 1) notes.push(`true: ${truth}`);
    if (hit !== null && hit > 0 && hit < 1) notes.push(`${percent(hit)} right`);
    if (probability !== null) notes.push(`gave the truth ${view.plain(probability)}`);
    if (observer === 1) notes.push("certain to an exact observer");
    else {
      if (observer !== null) notes.push(`an exact observer gives it ${view.plain(observer)}`);
      if (attainable !== null) notes.push(`attainable ${percent(attainable)}`);
    }
    if (notes.length) line.append(dom.make("small", { text: notes.join("; ") }));
    return line;
  },

  // A value, or the two ends of what is known of it.
  bound(value) {
    const { plain } = transcript.view;
    if (value === null) return "–";
    return value[0] === value[1] ? plain(value[0]) : `${plain(value[0])} to ${plain(value[1])}`;
  },

  // A number with three decimals at most.
  plain: (value) => String(Number(value.toFixed(3))).replace("-", "−"),
};
