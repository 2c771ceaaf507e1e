// Sorts and filters the table of rows. The rest of the page needs no script.
"use strict";
{
  const PAGE = 100;
  // The columns of a row: number, name, decision, score, group, reason, text.
  const rows = JSON.parse(document.getElementById("rows").textContent);
  const words = rows.map((row) => `${row[1]} ${row[4]} ${row[5]} ${row[6]}`.toLowerCase());
  const section = document.getElementById("all-rows");
  const body = section.querySelector("tbody");
  const status = document.getElementById("rows-status");
  const search = document.getElementById("search");
  const decision = document.getElementById("decision");
  const group = document.getElementById("group");
  const [previous, next] = ["previous", "next"].map((id) => document.getElementById(id));
  let shown = rows.map((_, index) => index);
  let sorting = { column: 0, descending: false };
  let start = 0;

  section.hidden = false;
  for (const control of [search, decision, group]) control?.addEventListener("input", filter);
  for (const button of section.querySelectorAll("th button")) {
    button.addEventListener("click", () => {
      const column = Number(button.dataset.column);
      // The highest scores are what one looks for first.
      const descending = sorting.column === column ? !sorting.descending : column === 3;
      sorting = { column, descending };
      for (const cell of section.querySelectorAll("th")) cell.removeAttribute("aria-sort");
      button.closest("th").setAttribute("aria-sort", descending ? "descending" : "ascending");
      filter();
    });
  }
  previous.addEventListener("click", () => show(start - PAGE));
  next.addEventListener("click", () => show(start + PAGE));
  filter();

  function filter() {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = [];
    rows.forEach((row, index) => {
      if (decision.value && row[2] !== decision.value) return;
      if (group?.value && row[4] !== group.value) return;
      if (wanted.every((word) => words[index].includes(word))) shown.push(index);
    });
    const { column, descending } = sorting;
    const sign = descending ? -1 : 1;
    shown.sort((a, b) => {
      const [first, second] = [rows[a][column], rows[b][column]];
      // Rows without a score come last in either order.
      if (first === null || second === null) return (first === null) - (second === null) || a - b;
      return sign * (first < second ? -1 : first > second ? 1 : 0) || a - b;
    });
    show(0);
  }

  function show(first) {
    start = Math.max(0, first);
    const part = shown.slice(start, start + PAGE);
    body.replaceChildren(...part.map((index) => line(rows[index])));
    const range = part.length ? `${start + 1} to ${start + part.length} of ` : "";
    status.textContent = `${range}${shown.length.toLocaleString("en")} rows`;
    previous.disabled = start === 0;
    next.disabled = start + PAGE >= shown.length;
  }

  function line([number, name, decided, score, key, reason, text]) {
    const row = document.createElement("tr");
    cell("td", number, "number");
    cell("th", name).scope = "row";
    cell("td", decided);
    cell("td", score === null ? "" : score.toFixed(2), `number ${level(score)}`);
    if (group) cell("td", key);
    cell("td", reason);
    cell("td", text, "long");
    return row;

    function cell(tag, content, kind = "") {
      const element = row.appendChild(document.createElement(tag));
      element.textContent = content;
      element.className = kind;
      element.dir = "auto";
      return element;
    }
  }

  function level(score) {
    return score === null ? "" : `l${Math.min(4, Math.floor(Math.min(1, Math.max(0, score)) * 5))}`;
  }
}
