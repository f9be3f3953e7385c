// Drives the console in a browser: `drive(walk)` calls `walk(page, look)` for both themes and two widths, and prints a JSON
// report of what it returned, `{shown, complaints, serious}`: by look what the pages showed, everything that they
// complained of, and what axe-core found serious on them.
//
// A program of this folder has the arguments: the browser's program, the server's address, and its own.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

export const [program, address, ...given] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
// The graph shows long names cut and broken; the labels of its states have them whole.
const RULES = { 'label-content-name-mismatch': { enabled: false } };
const PATIENCE_MS = 60_000 * Number(process.env.STATEWRIGHT_TEST_SLOWNESS ?? 1);

export const LOOKS = ['light', 'dark'].flatMap((colorScheme) => [1440, 600].map((width) => ({ colorScheme, width, name: `${colorScheme} ${width}` })));

/** @param {(page: any, look: any) => Promise<unknown>} walk @param {any[]} [looks] */
export async function drive(walk, looks = LOOKS) {
  const browser = await chromium.launch({
    executablePath: program,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-background-networking', '--disable-component-update'],
  });
  const complaints = [];
  const serious = [];
  const shown = {};
  for (const look of looks) {
    const context = await browser.newContext({ viewport: { width: look.width, height: 900 }, colorScheme: look.colorScheme });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    page.on('console', (message) => (message.type() === 'error' ? complaints.push(`${look.name}: ${message.text()}`) : null));
    page.on('pageerror', (error) => complaints.push(`${look.name}: ${error.message}`));
    page.on('request', (request) => (request.url().startsWith(address) ? null : complaints.push(`${look.name}: asked ${request.url()}`)));
    page.checkAccess = async () => serious.push(...(await access(page)).map((one) => `${look.name}: ${one}`));
    try {
      shown[look.name] = await walk(page, look);
    } catch (problem) {
      const seen = await page.locator('body').innerText().catch(() => '');
      throw new Error(`${look.name}, at ${page.url()}: ${complaints.join('; ') || 'no complaints'}\n${seen.slice(0, 2000)}`, { cause: problem });
    }
    await context.close();
  }
  await browser.close();
  process.stdout.write(JSON.stringify({ complaints, serious, shown }));
}

// Its preload would copy the style sheets of shadow roots into style elements, which the page's policy refuses.
/** What axe-core finds serious or critical on a page. It runs in a world of its own, where the page's policy does not hold. */
async function access(page) {
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send('Page.getFrameTree');
  const { executionContextId } = await session.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id, worldName: 'axe' });
  await session.send('Runtime.evaluate', { contextId: executionContextId, expression: axe });
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    contextId: executionContextId, awaitPromise: true, returnByValue: true,
    expression: `axe.run({ preload: false, rules: ${JSON.stringify(RULES)} }).then((found) => JSON.stringify(found.violations))`,
  });
  await session.detach();
  if (exceptionDetails) return [`axe-core failed: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`];
  return JSON.parse(result.value).filter((one) => one.impact === 'serious' || one.impact === 'critical')
    .map((one) => `${new URL(page.url()).pathname.slice(0, 60)}: ${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary?.split('\n')[1]?.trim()}`).join(' | ')}`);
}
