"use strict";
// The parts of every page: light and dark, the data, tables that can be sorted.

const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);

// Everything foreign goes in as text or as an attribute, never as markup.
const fill = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
};
const h = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

// Light and dark.
const root = document.documentElement;
const toggle = $("theme");
const isDark = () =>
  (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const label = () => { toggle.textContent = isDark() ? "Light" : "Dark"; };
toggle.hidden = false;
toggle.setAttribute("aria-label", "Switch between light and dark");
toggle.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; label(); });
label();

// Downloads.
const offer = (id, type, text) => {
  const link = $(id);
  link.hidden = false;
  link.addEventListener("click", () => {
    link.href = URL.createObjectURL(new Blob([text()], { type }));
  });
  link.href = "#";
};
offer("json", "application/json", () => JSON.stringify(data));

// Tables that are sorted by their heads.
const key = (row, column) => {
  const cell = row.cells[column];
  const text = cell.dataset.value ?? cell.textContent.trim();
  const value = Number(text.replace(/,/g, ""));
  return text === "" || text === "-" ? null : Number.isNaN(value) ? text : value;
};
const compare = (one, other) => {
  if (one === null || other === null) return (one === null) - (other === null);
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one).localeCompare(String(other), "en", { numeric: true });
};
const sortable = (table) => {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = h("button", { type: "button" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const order = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const rows = [...table.tBodies[0].rows].map((row) => [key(row, column), row]);
      rows.sort(([one], [other]) =>
        one === null || other === null ? compare(one, other) : sign * compare(one, other));
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  });
};
document.querySelectorAll("table.sortable").forEach(sortable);
