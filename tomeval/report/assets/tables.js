// Tables that can be sorted and filtered. Cells hold what sorts them in data-sort.
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

  for (const table of document.querySelectorAll("table[data-table]")) {
    const said = document.getElementById(`${table.dataset.table}-said`);
    sortable(table, said);
    const controls = document.getElementById(`${table.dataset.table}-controls`);
    if (controls !== null) filterable(table, controls, said);
  }
}
