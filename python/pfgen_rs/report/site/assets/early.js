// Before anything shows: the language and the colours chosen earlier, so that nothing flashes.
(() => {
  "use strict";
  const kept = (key) => {
    try {
      return localStorage.getItem(`pfgen.${key}`);
    } catch {
      return null; // storage may be forbidden
    }
  };
  const root = document.documentElement;
  const preferred = (navigator.languages ?? [navigator.language]).find((l) => /^(ja|en)\b/.test(l));
  const language = kept("language") ?? preferred?.slice(0, 2) ?? "en";
  root.lang = language === "ja" ? "ja" : "en";
  const theme = kept("theme");
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  root.classList.add("scripted");
})();
