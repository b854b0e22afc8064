// The steps of a matrix game: what was chosen and predicted, and what that cost.
transcript.view = {
  caption:
    "Regret is measured from the best response to this partner over the whole episode; what was lost in this step, with the partner's move held fixed.",

  columns: [
    ["chose", null], ["partner chose", null], ["predicted", null], ["reward", "number"],
    ["regret", "number"], ["lost in this step", "number"], ["acted on its prediction", null],
  ],

  title: (cell, place) => `${cell.title} against ${cell.partners[cell.partner[place]]}`,

  // The episode with its actions as numbers, null where there is none.
  unpacked(cell, place, packed) {
    const steps = cell.steps[place];
    const column = (text) =>
      Array.from({ length: steps }, (_, i) => {
        const code = text === undefined ? 47 : text.charCodeAt(i);
        return code === 47 ? null : code - 48;
      });
    return {
      place,
      steps: Array.from({ length: steps }, (_, i) => i + 1),
      own: column(packed.own),
      their: column(packed.their),
      predicted: column(packed.predicted),
      state: packed.state === undefined ? Array(steps).fill(0) : column(packed.state),
      probs: column(packed.probs),
      guess: column(packed.guess),
      told: new Set(packed.told ?? []),
      reference: cell.reference[`${cell.partner[place]}:${steps}`],
      complete: cell.status[place] === "complete",
    };
  },

  below: () => null,

  reward(cell, episode, i) {
    return episode.own[i] === null ? null : cell.payoff[episode.own[i]][episode.their[i]][0];
  },

  // Regret against the best response over the episode; an episode that broke off has none, nor has
  // one whose partner is not known for certain.
  regret(cell, episode, i) {
    return episode.complete && episode.reference ? episode.reference[i] - transcript.view.reward(cell, episode, i) : null;
  },

  // Regret by step as a line.
  above(cell, episode) {
    if (!episode.complete || !episode.reference || episode.steps.length < 2) return null;
    const values = episode.own.map((_, i) => transcript.view.regret(cell, episode, i));
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

  cells(cell, episode, i) {
    const own = episode.own[i];
    const their = episode.their[i];
    const predicted = episode.predicted[i];
    const asked = own !== null && predicted !== null;
    const right = asked ? predicted === their : null;
    const amount = (value) => dom.make("td", { class: "number", text: transcript.view.plain(value) });
    return [
      transcript.view.answer(cell.own, own, episode, i, "act", episode.probs[i]),
      transcript.view.partner(cell, episode, i),
      transcript.view.answer(cell.their, predicted, episode, i, "predict", episode.guess[i], right),
      amount(transcript.view.reward(cell, episode, i)),
      amount(transcript.view.regret(cell, episode, i)),
      amount(own === null ? null : cell.stepwise[own][their]),
      dom.make("td", { text: asked ? (cell.best[own][predicted] ? "yes" : "no") : "–" }),
    ];
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
    if (action !== null) cellOf.append(dom.seen(labels[action]));
    else cellOf.append(outcome === undefined ? "not asked" : "nothing");
    if (right !== null) {
      cellOf.append(" ", dom.make("span", { class: right ? "right" : "wrong", text: right ? "✓" : "✗", "aria-hidden": "true" }));
      cellOf.append(dom.make("span", { class: "unseen", text: right ? " (right)" : " (wrong)" }));
    }
    if (action !== null && (episode[`${form}_unasked`] ?? []).includes(i)) {
      cellOf.append(" ", dom.make("span", { class: "invalid", text: "drawn at random, not asked" }));
    }
    if (outcome !== undefined) {
      cellOf.append(" ", dom.make("span", { class: "invalid", text: action === null ? outcome : `drawn at random, the answer was ${outcome}` }));
    }
    const tries = episode.attempts === undefined ? 1 : episode.attempts[form === "act" ? 0 : 1][i];
    const notes = [];
    if (tries > 1) notes.push(`asked ${tries} times`);
    if (code !== null) notes.push(labels.map((label, a) => `${label} ${dom.number(episode.book[code][a], 3)}`).join(", "));
    const reactions = form === "predict" ? (episode.react ?? {})[i] : undefined;
    const unread = (episode.react_invalid ?? {})[i] ?? {};
    const reaction = (b, own) => (b < 0 ? "nothing" : labels[b]) + (own in unread ? ` (${b < 0 ? "" : "drawn at random, the answer was "}${unread[own]})` : "");
    if (reactions !== undefined) notes.push(`next, by own action: ${reactions.map(reaction).join(", ")}`);
    if (notes.length) cellOf.append(dom.make("small", { text: notes.join("; ") }));
    return cellOf;
  },
};
