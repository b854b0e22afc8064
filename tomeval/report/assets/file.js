// Blocks of data: opened once, when they are first asked for.
const blocks = {
  opened: new Map(),

  open(name) {
    if (!blocks.opened.has(name)) blocks.opened.set(name, blocks.read(name));
    return blocks.opened.get(name);
  },

  async read(name) {
    const element = document.getElementById(`block-${name}`);
    if (element === null) throw new Error(`this file has no block ${name}: is it complete?`);
    const packed = atob(element.textContent);
    const bytes = new Uint8Array(packed.length);
    for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  },
};

// Where the list of episodes takes its data from: the blocks of this file.
const source = {
  // What is known of each cell: at least its number, title and task.
  cells: () => blocks.open("index"),

  // All that is known of a cell, with a list of its episodes.
  async cell(number) {
    return (await blocks.open("index")).find((cell) => cell.number === number);
  },

  // One episode.
  async episode(number, cell, place) {
    const chunk = await blocks.open(`chunk-${cell.chunk[place]}`);
    return { calls: [], ...chunk[cell.place[place]] };
  },
};
