// An episode of any domain as lines of text: the first line of each step beside the others, what is said
// before and after all steps around the table.
transcript.view = {
  caption: "What was played step by step.",
  columns: [["played", false], ["what came of it", false]],

  title: (cell) => cell.title,

  unpacked(cell, place, packed) {
    const numbers = new Set([...Object.keys(packed.steps).map(Number), ...packed.calls.map((call) => call.s)]);
    return { steps: [...numbers].sort((a, b) => a - b), lines: packed.steps };
  },

  above: (cell, episode) => transcript.view.text(episode.head),
  below: (cell, episode) => transcript.view.text(episode.tail),

  // Lines that may be laid out by spaces, such as a board.
  text: (lines) =>
    lines.length ? dom.make("pre", { class: "lines", dir: "auto", tabindex: 0, text: lines.join("\n") }) : null,

  cells(cell, episode, i) {
    const [first = "", ...others] = episode.lines[episode.steps[i]] ?? [];
    const said = (text) => dom.make("div", { dir: "auto", text });
    return [dom.make("td", { class: "told" }, said(first)), dom.make("td", { class: "told" }, ...others.map(said))];
  },
};
