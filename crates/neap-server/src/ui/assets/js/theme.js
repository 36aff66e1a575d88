// The switch between dark and light; theme_first.js applies it.

export function toggleTheme() {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  window.dispatchEvent(new CustomEvent("neap-theme", { detail: next }));
}
