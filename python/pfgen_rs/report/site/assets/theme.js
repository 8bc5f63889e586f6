// Light and dark: what the system prefers, until a choice is made.
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

  const button = pfgen.element("button", {
    type: "button",
    id: "theme",
    onclick: () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      pfgen.keep("theme", root.dataset.theme);
      pfgen.address.set({ theme: root.dataset.theme });
      update();
    },
  }, pfgen.tr("dark"));

  const update = () => button.setAttribute("aria-pressed", isDark());

  system.addEventListener("change", update);
  document.getElementById("switches").append(button);
  update();
})();
