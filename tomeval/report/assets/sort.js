// Tables are sorted by a click on a heading. Cells hold what sorts them in data-sort.
const key = (row, index) => row.cells[index].dataset.sort ?? row.cells[index].textContent;

// Order of two keys; what is empty comes last whichever way is sorted.
const order = (a, b, numeric, sign) => {
  if (a === "" || b === "") return (a === "") - (b === "");
  return sign * (numeric ? Number(a) - Number(b) : a.localeCompare(b, undefined, { numeric: true }));
};

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const numeric = head.classList.contains("number");
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => order(key(a, index), key(b, index), numeric, up ? 1 : -1));
      table.tBodies[0].append(...rows);
    });
  });
}
