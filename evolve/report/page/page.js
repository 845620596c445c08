"use strict";
// The page says everything without this script, which filters, sorts and copies alone.
const filters = new Map();
for (const form of document.querySelectorAll("form.filter")) {
  const table = document.getElementById(form.dataset.for);
  const find = form.querySelector("input[type=search]");
  const lost = form.querySelector("input[type=checkbox]");
  const output = form.querySelector("output");
  const what = form.dataset.what ?? "tasks";
  const filter = () => {
    const wanted = find.value.trim().toLowerCase();
    const rows = [...table.tBodies[0].rows];
    let count = 0;
    for (const row of rows) {
      const text = what === "tasks" ? row.cells[0].textContent : row.textContent;
      const kept = text.toLowerCase().includes(wanted) && (!lost.checked || "lost" in row.dataset);
      row.hidden = !kept;
      count += kept;
    }
    output.textContent = `${count} of ${rows.length} ${what}`;
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  find.addEventListener("input", filter);
  lost.addEventListener("change", filter);
  form.hidden = false;
  filter();
  filters.set(form.dataset.for, filter);
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
// A page that is followed is told which of its parts are another now; they were escaped where they were made. While
// nobody sees it, it is not followed: a browser holds few connections to one server, over all of its tabs.
if (document.body.dataset.live) {
  let source = null;
  let address = document.body.dataset.live;
  const follow = () => {
    source = new EventSource(address);
    source.addEventListener("parts", (event) => {
      for (const [name, html] of Object.entries(JSON.parse(event.data))) {
        const old = document.getElementById(name);
        const template = document.createElement("template");
        template.innerHTML = html;
        if (old) old.replaceWith(template.content.firstElementChild);
      }
      for (const filter of filters.values()) filter();
      address = `${address.split("?")[0]}?since=${event.lastEventId}`;
    });
    source.addEventListener("over", () => { source.close(); location.reload(); });
  };
  const follows = () => {
    if (document.hidden) {
      source?.close();
      source = null;
    } else if (!source) follow();
  };
  document.addEventListener("visibilitychange", follows);
  follows();
}
