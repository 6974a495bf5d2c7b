// Light and dark: as the system has it, until the reader chooses.

import { $ } from "./dom.js";

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");

// A browser may refuse to store anything.
const stored = (value) => {
  try {
    if (value) localStorage.setItem("theme", value);
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
};

const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

const label = () => {
  const other = isDark() ? "Light" : "Dark";
  $("theme").textContent = other;
  $("theme").setAttribute("aria-label", `${other} colours`);
};

/** Takes the choice of last time, and listens for another. */
export const startTheme = () => {
  const chosen = stored();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  $("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    stored(root.dataset.theme);
    label();
  });
  system.addEventListener("change", label);
  label();
};
