// Where the list of episodes takes its data from: the server on this machine, one thing at a time.
const source = {
  async ask(address) {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(answer.status === 404 ? await answer.text() : `the server says ${answer.status}`);
    return answer.json();
  },

  cells: () => source.ask("cells"),
  cell: (number) => source.ask(`cells/${number}`),
  episode: (number, cell, place) => source.ask(`cells/${number}/episodes/${cell.episode[place]}`),
};
