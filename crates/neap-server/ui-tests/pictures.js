// Draws the pictures of the page that the README shows: node crates/neap-server/ui-tests/pictures.js docs

import { join } from "node:path";
import { goTo, launch, withMock, withPage } from "./browser/harness.js";

/** File, place, theme, and what is clicked first. */
const PICTURES = [
  ["page-context.png", "context/auth-service", "light", ".block-item:has-text('Summary of slow-search-3')"],
  ["page-timeline.png", "timeline/auth-service?turn=142", "dark", ""],
  ["page-cost.png", "cost/auth-service", "light", ""],
];
const folder = process.argv[2] ?? ".";

const browser = await launch();
for (const [file, place, theme, click] of PICTURES) {
  await withMock("story", (mock) => withPage(browser, mock.url, async (page) => {
    await goTo(page, String(place));
    if (click) await page.locator(click).click();
    await page.locator(".link-state[data-state=live]").waitFor();
    await page.evaluate(() => {
      scrollTo(0, 0);
      const chosen = document.querySelector(".virtual .item[aria-current=true]")?.closest(".virtual-row");
      const list = chosen?.closest(".virtual");
      if (chosen && list) list.scrollTop += chosen.getBoundingClientRect().top - list.getBoundingClientRect().top - chosen.clientHeight;
    });
    await page.screenshot({ path: join(folder, String(file)), animations: "disabled" });
  }, { colorScheme: theme, viewport: { width: 1280, height: 800 } }));
}
await browser.close();
