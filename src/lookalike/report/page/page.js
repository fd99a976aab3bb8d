"use strict";
(() => {
  const root = document.documentElement;
  const memory = {
    get() { try { return localStorage.getItem("lookalike-theme"); } catch { return null; } },
    set(theme) { try { localStorage.setItem("lookalike-theme", theme); } catch { /* a file may have no storage */ } },
  };
  const button = document.getElementById("theme");
  const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const show = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", dark() ? "Switch to light colours" : "Switch to dark colours");
  };
  const apply = (theme) => { if (theme === "dark" || theme === "light") root.dataset.theme = theme; };
  apply(memory.get());
  // Another page of this browser may switch while this one opens, or later.
  addEventListener("storage", (change) => { if (change.key === "lookalike-theme") { apply(change.newValue); show(); } });
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    memory.set(root.dataset.theme);
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
  button.hidden = false;

  for (const copy of document.querySelectorAll("[data-copy]")) {
    const text = document.getElementById(copy.dataset.copy);
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text.textContent);
        copy.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(text);
        copy.textContent = document.execCommand("copy") ? "Copied" : "Selected";
      }
      setTimeout(() => { copy.textContent = "Copy"; }, 2000);
    });
    copy.hidden = false;
  }

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const each of opened) each.open = true;
  });
  addEventListener("afterprint", () => { for (const each of opened) each.open = false; });
})();
