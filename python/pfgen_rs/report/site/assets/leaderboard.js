// Leaderboard: filters, and runs chosen for comparison.
(() => {
  const table = document.querySelector("table.leaderboard");
  const form = document.getElementById("filters");
  const output = document.getElementById("count");
  const box = document.getElementById("comparison");
  const { page, most } = pfgen.data("comparison");
  const plain = (text) => text.normalize("NFKC").toLowerCase();
  const rows = table.sorting.rows.map((row) => ({ row, data: row.dataset, text: plain(row.querySelector(".model").textContent) }));

  const count = () => {
    const n = rows.filter(({ row }) => !row.hidden).length;
    output.textContent = pfgen.t("count", { n, all: rows.length });
  };

  const filter = () => {
    const wanted = new FormData(form);
    const words = plain(wanted.get("text")).split(/\s+/).filter(Boolean);
    const chosen = ["mode", "engine", "organisation"].filter((name) => wanted.get(name));
    for (const { row, data, text } of rows) {
      row.hidden = !(chosen.every((name) => data[name] === wanted.get(name)) && words.every((word) => text.includes(word)));
    }
    count();
  };

  const reset = () => {
    table.sorting.reset();
    setTimeout(filter); // the form empties its fields after this event
  };

  form.addEventListener("change", filter);
  form.addEventListener("input", pfgen.later(filter, 80));
  form.addEventListener("reset", reset);
  form.addEventListener("submit", (event) => event.preventDefault());

  const boxes = () => table.querySelectorAll("tbody input:checked");

  const clear = () => {
    for (const input of boxes()) input.checked = false;
    compare();
  };

  const next = (chosen) => {
    if (chosen.length < 2) return [pfgen.element("p", {}, pfgen.tr("compare_more"))];
    if (chosen.length > most) return [pfgen.element("p", { class: "problem" }, pfgen.tr("compare_too_many", { most, n: chosen.length - most }))];
    const href = `${pfgen.root}${page}#runs=${chosen.map((row) => row.id).join("+")}`;
    return [pfgen.element("p", {}, pfgen.element("a", { href }, pfgen.tr("compare_open")))];
  };

  const compare = () => {
    const chosen = [...boxes()].map((input) => input.closest("tr"));
    box.hidden = chosen.length === 0;
    const items = chosen.map((row) => pfgen.element("li", {}, pfgen.shown(row.querySelector(".model").dataset.v)));
    const button = pfgen.element("button", { type: "button", onclick: clear }, pfgen.tr("compare_clear"));
    box.replaceChildren(pfgen.element("ul", {}, ...items), ...next(chosen), button);
  };

  table.tBodies[0].addEventListener("change", compare);
  pfgen.onLanguage(count);
  filter();
  compare();
})();
