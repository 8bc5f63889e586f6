// Before anything shows: language and colours as the address states them, or as they were chosen earlier, so that
// nothing flashes.
(() => {
  "use strict";
  const kept = (key) => {
    try {
      return localStorage.getItem(`pfgen.${key}`);
    } catch {
      return null; // storage may be forbidden
    }
  };
  const address = new URLSearchParams(location.search);
  const root = document.documentElement;
  const preferred = (navigator.languages ?? [navigator.language]).find((l) => /^(ja|en)\b/.test(l));
  const known = (choices, ...values) => values.find((value) => choices.includes(value));
  root.lang = known(["ja", "en"], address.get("lang"), kept("language"), preferred?.slice(0, 2)) ?? "en";
  const theme = known(["light", "dark"], address.get("theme"), kept("theme"));
  if (theme) root.dataset.theme = theme;
  root.classList.add("scripted");
})();
