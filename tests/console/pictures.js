// Takes the pictures of docs/images/console: `node pictures.js BROWSER ADDRESS FOLDER JSON`, where JSON names the pages,
// `[{"name", "path", "wait", "act"}]`: `wait` is a selector that has to be there, `act` one to click first.

import { chromium } from 'playwright-core';

const [program, address, folder, pages] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: program,
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-background-networking', '--disable-component-update'],
});
for (const colorScheme of ['light', 'dark']) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme, timezoneId: 'UTC' });
  const page = await context.newPage();
  page.on('pageerror', (error) => process.stderr.write(`${error.message}\n`));
  page.on('console', (message) => (message.type() === 'error' ? process.stderr.write(`${page.url()}: ${message.text()}\n`) : null));
  for (const one of JSON.parse(pages)) {
    try {
      await page.goto(`${address}${one.path}`);
      await page.locator(one.wait ?? 'main h1').first().waitFor({ timeout: 60_000 });
      for (const step of one.act ?? []) await page.locator(step).first().click();
      await page.evaluate(() => document.activeElement?.blur?.());
      await page.mouse.move(1439, 899);
      await page.waitForTimeout(one.rest ?? 1500);
      await page.screenshot({ path: `${folder}/${one.name}-${colorScheme}.png` });
    } catch (problem) {
      process.stderr.write(`${one.name}: ${problem.message.split('\n')[0]}\n`);
    }
  }
  await context.close();
}
await browser.close();
