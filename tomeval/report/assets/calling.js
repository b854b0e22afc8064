// One call of a model: the prompt, told by what is new in it, and what came back.
const calling = {
  show(episode, place) {
    const call = episode.calls[place];
    const title = call.p + (call.a === undefined ? "" : `, attempt ${call.a}`);
    return dom.make(
      "div",
      { class: "call" },
      dom.make("h4", { text: title }),
      call.r === undefined ? null : calling.prompt(episode, place),
      ...calling.reply(call),
      dom.make("p", { class: "small soft wide", text: calling.facts(call) }),
    );
  },

  prompt(episode, place) {
    const [shared, rest] = calling.text(episode, place);
    const count = (shared.length + rest.length).toLocaleString("en");
    const fresh = shared === "" ? "" : `, of which the last ${rest.length.toLocaleString("en")} are new`;
    const body = dom.make("pre", { dir: "auto", tabindex: 0 });
    const details = dom.make("details", {}, dom.make("summary", { text: `Prompt: ${count} characters${fresh}` }), body);
    details.addEventListener("toggle", () => {
      if (details.open && !body.hasChildNodes()) {
        dom.replace(body, shared, fresh === "" ? rest : dom.make("mark", { text: rest }));
      }
    });
    return details;
  },

  // The prompt of a call, as [what it shares with the one before of its purpose, the rest].
  text(episode, place) {
    const { p: purpose } = episode.calls[place];
    let before = "";
    for (let i = 0; i <= place; i++) {
      const call = episode.calls[i];
      if (call.p !== purpose || call.r === undefined) continue;
      const shared = calling.cut(before, call.m);
      if (i === place) return [shared, call.r];
      before = shared + call.r;
    }
    throw new Error(`no prompt of call ${place}`);
  },

  // The first characters of a text, counted as whole characters even beyond 16 bits.
  cut: (text, count) => (/[\ud800-\udfff]/.test(text) ? Array.from(text).slice(0, count).join("") : text.slice(0, count)),

  reply(call) {
    const part = (title, text, kind) => [
      dom.make("h5", { text: title }),
      dom.make("pre", { class: kind, dir: "auto", tabindex: 0, text: text === "" ? "(empty)" : text }),
    ];
    return [
      ...(call.g === undefined ? [] : part("Reasoning", call.g, null)),
      ...(call.t === undefined ? [] : part("Reply", call.t, "reply")),
      ...(call.q === undefined ? [] : part("Log-probabilities of the labels", calling.scores(call), "reply")),
      ...(call.e === undefined ? [] : part("Error", call.e, "reply")),
    ];
  },

  scores: (call) => call.l.map((label, i) => `${label}  ${call.q[i] === null ? "−∞" : call.q[i]}`).join("\n"),

  facts(call) {
    const said = [];
    if (call.o !== undefined) said.push(`read as ${call.o}`);
    if (call.f !== undefined) said.push(`ended by ${call.f}`);
    if (call.k !== undefined) said.push(`all labels together have ${call.k} of the probability (${call.w})`);
    if (call.u !== undefined) said.push(`${call.u[0]} prompt tokens, ${call.u[2]} of them cached, ${call.u[1]} generated`);
    if (call.d !== undefined) said.push(`${call.d} s`);
    return said.join(" · ");
  },
};
