"use strict";
// Sorts a table by the column whose heading is chosen, within each of its groups.
for (const table of document.querySelectorAll("table.sorts")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    // No <button>: browsers print a heading with a control on the first page of a table only.
    const button = document.createElement("span");
    button.setAttribute("role", "button");
    button.tabIndex = 0;
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sort(table, headings, column));
    button.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      sort(table, headings, column);
    });
    heading.append(button);
  });
}

function sort(table, headings, column) {
  const chosen = headings[column];
  const order = chosen.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
  headings.forEach((heading) => heading.removeAttribute("aria-sort"));
  chosen.setAttribute("aria-sort", order);
  const key = chosen.classList.contains("num") ? number : text;
  for (const body of table.tBodies) {
    const rows = [...body.rows].filter((row) => !row.querySelector("th.group"));
    const keyed = rows.map((row) => [key(row.cells[column]), row]);
    const known = keyed.filter(([value]) => value !== null).sort(([a], [b]) => compare(a, b));
    if (order === "descending") known.reverse();
    const unknown = keyed.filter(([value]) => value === null);
    body.append(...[...known, ...unknown].map(([, row]) => row));
  }
}

function text(cell) {
  return cell.textContent.trim() || null;
}

function number(cell) {
  const found = /-?\d+(\.\d+)?/.exec(cell.textContent);
  return found && Number(found[0]);
}

function compare(a, b) {
  return typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
}
