// Runs before the first paint, so that no page flashes in the other theme.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  /** @type {string | null} */
  let chosen = null;
  try {
    chosen = localStorage.getItem("neap-theme");
  } catch {
    // A browser may refuse storage; the system's theme applies then.
  }
  const apply = () => {
    document.documentElement.dataset.theme = chosen ?? (dark.matches ? "dark" : "light");
  };
  apply();
  dark.addEventListener("change", () => {
    if (!chosen) apply();
  });
  window.addEventListener("neap-theme", (event) => {
    chosen = /** @type {CustomEvent<string>} */ (event).detail;
    try {
      localStorage.setItem("neap-theme", chosen);
    } catch {
      // It holds until the page is closed.
    }
    apply();
  });
})();
