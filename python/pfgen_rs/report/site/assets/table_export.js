// What a table shows, as a file or to be pasted: CSV, JSON, LaTeX (booktabs), Markdown.
(() => {
  const { element, tr } = pfgen;
  const formula = /^[=+\-@\t\r]./s; // as `FORMULA` and `NUMBER` of `io/text.py`
  const number = /^[+-]?\d[\d.,]*(e[+-]?\d+)?%?$/;
  const special = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}", "\"": "\\textquotedbl{}" };

  const cell = (value) => {
    if (value === null) return "";
    const text = typeof value === "string" && formula.test(value) && !number.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const latex = (text) => pfgen.plain(text).replace(/[\\~^<>|"{}$&#_%]/g, (sign) => special[sign] ?? `\\${sign}`);
  const markdown = (text) => pfgen.plain(text).replace(/[\\`*_{}[\]<>#!|~@$&]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const shown = (digits, value) => (value === null ? "–" : typeof value === "number" ? value.toFixed(digits) : String(value));

  /** By name, what turns columns (`key`, `label`, `isNumber`, `digits`) and rows of values into a text. */
  pfgen.tableTexts = {
    csv: (columns, rows) => [columns.map(({ label }) => label), ...rows].map((row) => `${row.map(cell).join(",")}\n`).join(""),
    json: (columns, rows) => `${JSON.stringify(rows.map((row) => Object.fromEntries(columns.map(({ key }, i) => [key, row[i]]))), null, 1)}\n`,
    tex: (columns, rows) => {
      const line = (texts) => `${texts.map(latex).join(" & ")} \\\\\n`;
      const body = rows.map((row) => line(row.map((value, i) => shown(columns[i].digits, value)))).join("");
      const places = columns.map(({ isNumber }) => (isNumber ? "r" : "l")).join("");
      return `\\begin{tabular}{${places}}\n\\toprule\n${line(columns.map(({ label }) => label))}\\midrule\n${body}\\bottomrule\n\\end{tabular}\n`;
    },
    md: (columns, rows) => {
      const line = (texts) => `| ${texts.join(" | ")} |\n`;
      const body = rows.map((row) => line(row.map((value, i) => markdown(shown(columns[i].digits, value))))).join("");
      return `${line(columns.map(({ label }) => markdown(label)))}${line(columns.map(({ isNumber }) => (isNumber ? "--:" : "---")))}${body}`;
    },
  };

  /** Save a text as a file. */
  pfgen.saved = (name, text, type = "text/plain") => {
    const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
    element("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  };

  /** Buttons that save and copy a table; `table()` gives its columns and rows. */
  pfgen.exports = (name, table) => Object.entries(pfgen.tableTexts).flatMap(([kind, text]) => {
    const copy = () => navigator.clipboard.writeText(text(...table())).then(() => pfgen.say(pfgen.t("copied")), () => pfgen.say(pfgen.t("not_copied")));
    return [
      element("button", { type: "button", "data-save": kind, onclick: () => pfgen.saved(`${name}.${kind}`, text(...table())) }, tr(`save_${kind}`)),
      ...(navigator.clipboard ? [element("button", { type: "button", "data-copy": kind, onclick: copy }, tr("copy"), element("span", { class: "hidden" }, " ", tr(`save_${kind}`)))] : []),
    ];
  });
})();
