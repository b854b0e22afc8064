// Tables are sorted by a click on a heading: numbers by their value, texts by their letters.
const key = (row, index, numeric) => {
  const text = row.cells[index].textContent.trim();
  return numeric ? Number.parseFloat(text.replace("\u2212", "-")) : text;
};

// Order of two keys; what is empty comes last whichever way is sorted.
const order = (a, b, sign) => {
  const empty = (value) => value === "" || Number.isNaN(value);
  if (empty(a) || empty(b)) return empty(a) - empty(b);
  return sign * (a === String(a) ? a.localeCompare(b, undefined, { numeric: true }) : a - b);
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
      rows.sort((a, b) => order(key(a, index, numeric), key(b, index, numeric), up ? 1 : -1));
      table.tBodies[0].append(...rows);
    });
  });
}
