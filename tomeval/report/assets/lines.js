// An episode of any domain as lines of text: the first line of each step beside the others, what is said
// before and after all steps around the table.
transcript.view = {
  caption: "What was played step by step.",
  columns: [["played", "told"], ["what came of it", "told"]],

  title: (cell) => cell.title,

  unpacked(cell, place, packed) {
    const numbers = new Set([...Object.keys(packed.steps).map(Number), ...packed.calls.map((call) => call.s)]);
    return { steps: [...numbers].sort((a, b) => a - b), lines: packed.steps };
  },

  above: (cell, episode) => transcript.view.text(episode.head, "lines wrapped"),
  // It may be laid out by spaces, such as a board.
  below: (cell, episode) => transcript.view.text(episode.tail, "lines"),

  text: (lines, kind) =>
    lines.length ? dom.make("pre", { class: kind, dir: "auto", tabindex: 0, text: lines.join("\n") }) : null,

  cells(cell, episode, i) {
    const [first = "", ...others] = episode.lines[episode.steps[i]] ?? [];
    const said = (text) => dom.make("div", { dir: "auto", text });
    return [dom.make("td", { class: "told" }, said(first)), dom.make("td", { class: "told" }, ...others.map(said))];
  },
};
