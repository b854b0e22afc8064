// Tables that can be sorted and filtered. Cells hold what sorts them in data-sort.
const tables = {};
{
  const key = (row, index) => row.cells[index].dataset.sort ?? row.cells[index].textContent;

  // Order of two keys; what is empty comes last whichever way is sorted.
  const order = (a, b, numeric, sign) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    return sign * (numeric ? Number(a) - Number(b) : a.localeCompare(b, undefined, { numeric: true }));
  };

  const sortable = (table, said) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, index) => {
      const button = head.querySelector("button.sort");
      if (button === null) return;
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.hasAttribute("aria-sort") && other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const numeric = head.classList.contains("number");
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => order(key(a, index), key(b, index), numeric, up ? 1 : -1));
        table.tBodies[0].append(...rows);
        said.textContent = `Sorted by ${button.textContent.trim()}, ${up ? "ascending" : "descending"}.`;
      });
    });
  };

  const filterable = (table, controls, said) => {
    const inputs = [...controls.querySelectorAll("[data-column], [data-search]")];
    const apply = () => {
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        const fits = inputs.every((input) => {
          if (input.value === "") return true;
          if ("search" in input.dataset) {
            const words = input.value.toLowerCase().split(/\s+/);
            const text = row.textContent.toLowerCase();
            return words.every((word) => text.includes(word));
          }
          return row.cells[Number(input.dataset.column)].textContent.trim() === input.value;
        });
        row.hidden = !fits;
        shown += fits ? 1 : 0;
      }
      said.textContent = `${shown} of ${table.tBodies[0].rows.length} rows shown.`;
    };
    inputs.forEach((input) => input.addEventListener("input", apply));
    controls.addEventListener("reset", () => setTimeout(apply));
    controls.addEventListener("submit", (event) => event.preventDefault());
  };

  // Make the tables inside an element work.
  tables.wire = (root) => {
    for (const table of root.querySelectorAll("table[data-table]")) {
      const said = root.querySelector(`#${table.dataset.table}-said`);
      sortable(table, said);
      const controls = root.querySelector(`#${table.dataset.table}-controls`);
      if (controls !== null) filterable(table, controls, said);
    }
  };

  // What the reader chose in the tables inside an element; and choose it again in newer ones.
  tables.chosen = (root) =>
    [...root.querySelectorAll("table[data-table]")].map((table) => {
      const head = table.querySelector("[aria-sort=ascending], [aria-sort=descending]");
      const inputs = root.querySelectorAll(`#${table.dataset.table}-controls :is([data-column], [data-search])`);
      return {
        name: table.dataset.table,
        sorted: head === null ? null : [head.textContent, head.getAttribute("aria-sort")],
        values: [...inputs].map((input) => input.value),
      };
    });
  tables.choose = (root, chosen) => {
    for (const { name, sorted, values } of chosen) {
      const table = root.querySelector(`table[data-table="${name}"]`);
      const heads = [...(table?.tHead.rows[0].cells ?? [])];
      const head = sorted && heads.find((one) => one.textContent === sorted[0]);
      for (let i = 0; head && i < 2 && head.getAttribute("aria-sort") !== sorted[1]; i++) head.querySelector("button.sort").click();
      const inputs = root.querySelectorAll(`#${name}-controls :is([data-column], [data-search])`);
      inputs.forEach((input, i) => {
        input.value = values[i] ?? "";
        if (input.selectedIndex === -1) input.value = "";
      });
      if (values.some((value) => value !== "")) inputs[0]?.dispatchEvent(new Event("input"));
    }
  };
  tables.wire(document);
}
