"use strict";
// The page says everything without this script, which filters, sorts and copies alone.
for (const form of document.querySelectorAll("form.filter")) {
  const rows = [...document.getElementById(form.dataset.for).tBodies[0].rows];
  const find = form.querySelector("input[type=search]");
  const lost = form.querySelector("input[type=checkbox]");
  const output = form.querySelector("output");
  const filter = () => {
    const wanted = find.value.trim().toLowerCase();
    let count = 0;
    for (const row of rows) {
      const kept = row.cells[0].textContent.toLowerCase().includes(wanted) && (!lost.checked || "lost" in row.dataset);
      row.hidden = !kept;
      count += kept;
    }
    output.textContent = `${count} of ${rows.length} tasks`;
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  find.addEventListener("input", filter);
  lost.addEventListener("change", filter);
  form.hidden = false;
  filter();
}
for (const head of document.querySelectorAll("th[data-sort]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = head.textContent;
  head.replaceChildren(button);
  button.addEventListener("click", () => {
    const table = head.closest("table");
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => {
      const cell = row.cells[head.cellIndex];
      if (head.dataset.sort === "text") return cell.textContent;
      const number = Number.parseFloat(cell.dataset.value ?? cell.textContent);
      return Number.isNaN(number) ? -Infinity : number;
    };
    const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    const rows = [...table.tBodies[0].rows].sort((a, b) => (down ? -1 : 1) * order(key(a), key(b)));
    table.tBodies[0].append(...rows);
  });
}
for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const code = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}
// A drawer opens and closes by its address alone; with this it takes the focus, gives it back, and Escape closes it.
let opener = null;
const openDrawer = () => {
  const drawer = document.getElementById(location.hash.slice(1));
  if (drawer?.classList.contains("drawer")) drawer.focus({ preventScroll: true });
};
const closeDrawer = (event) => {
  event.preventDefault();
  const place = { x: scrollX, y: scrollY };
  location.hash = "tasks";
  scrollTo(place.x, place.y);
  opener?.focus({ preventScroll: true });
};
for (const link of document.querySelectorAll(".matrix a")) {
  link.addEventListener("click", () => { opener = link; });
}
for (const link of document.querySelectorAll(".drawer .close")) link.addEventListener("click", closeDrawer);
addEventListener("hashchange", openDrawer);
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.querySelector(".drawer:target")) closeDrawer(event);
});
openDrawer();
