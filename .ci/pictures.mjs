// Opens pages of the site in a light and a dark browser: every Mermaid block must become a picture. node pictures.mjs BROWSER PLAYWRIGHT OUT PAGE...
import { createRequire } from "node:module";
import { basename, join } from "node:path";

const [executablePath, playwright, out, ...pages] = process.argv.slice(2);
const { chromium } = createRequire(join(playwright, "index.js"))("playwright-core");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--allow-file-access-from-files"] });
let drawn = 0;
for (const colorScheme of ["light", "dark"]) {
  for (const path of pages) {
    const page = await browser.newPage({ colorScheme, viewport: { width: 1200, height: 1000 } });
    await page.goto(`file://${path}`);
    await page.waitForSelector("body[data-pictures]", { timeout: 20_000, state: "attached" });
    const wanted = Number(await page.getAttribute("body", "data-pictures"));
    const found = await page.locator(".mermaid svg:not([aria-roledescription=error])").count();
    if (found !== wanted) throw new Error(`${path}: ${found} of ${wanted} pictures were drawn`);
    await page.locator(".mermaid").first().screenshot({ path: join(out, `${basename(path, ".html")}-${colorScheme}.png`) });
    drawn += found;
    await page.close();
  }
}
await browser.close();
console.log(`${drawn} pictures drawn, on ${pages.length} pages, light and dark`);
