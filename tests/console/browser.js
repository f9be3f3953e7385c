// Looks at the lists and at an execution that failed after a caught error; its ARN is the argument.

import { address, drive, given } from './drive.js';

const [arn] = given;
await drive(walk);

/** Looks at every page, as a user would. */
async function walk(page) {
  await page.goto(`${address}/console/machines`);
  await page.locator('tbody tr').first().waitFor();
  await page.checkAccess();
  const machines = await page.locator('tbody tr .name a').allInnerTexts();
  await page.goto(`${address}/console/executions`);
  await page.getByLabel('Status', { exact: true }).selectOption('FAILED');
  await page.getByRole('link', { name: arn.split(':').pop(), exact: true }).click();
  await page.locator('.node.selected').waitFor();
  await page.checkAccess();
  const selected = await page.locator('.inspector h2').innerText();
  const said = await page.locator('.inspector .said').innerText();
  const banner = await page.locator('.banner').innerText();
  await page.getByRole('tab', { name: 'Input' }).click();
  await page.locator('.json .line').first().waitFor();
  const input = await page.locator('.json').innerText();
  await page.getByRole('tab', { name: 'Table' }).click();
  await page.locator('.deck tbody tr').first().waitFor();
  const table = await page.locator('.deck tbody tr').evaluateAll((rows) => rows.map((row) => [row.cells[0].innerText, row.cells[2].innerText]));
  const graph = await page.locator('.node').evaluateAll((nodes) => nodes.map((node) => node.getAttribute('aria-label')));
  await page.getByRole('tab', { name: 'Events' }).click();
  await page.getByRole('searchbox').fill('ExecutionFailed');
  await page.waitForFunction(() => document.querySelectorAll('.events tbody tr').length === 1);
  const found = await page.locator('.events tbody tr').innerText();
  await page.getByRole('tab', { name: 'Timeline' }).click();
  const slider = page.getByRole('slider');
  await slider.focus();
  await slider.press('Home');
  const first = { event: await slider.getAttribute('aria-valuenow'), reached: await page.locator('.node:not(.unreached)').count(), chip: await page.locator('.title .t-accent').innerText() };
  await slider.press('End');
  const last = { event: await slider.getAttribute('aria-valuenow'), reached: await page.locator('.node:not(.unreached)').count(), chips: await page.locator('.title .t-accent').count() };
  const elements = await page.evaluate(() => document.querySelectorAll('*').length);
  const markup = await page.evaluate(() => document.querySelectorAll('main b b, main script, main img').length);
  await page.locator('[data-state="Begin"]').press(' ');
  const pressed = await page.locator('.inspector h2').innerText();
  const pages = await page.locator('.rail').getByRole('link', { name: 'State machines' }).count();
  await page.goto(`${address}/console/execution/${arn}?view=x&tab=x&at=x&visit=x&state=constructor`);
  await page.getByRole('slider').waitFor();
  const odd = { chosen: await page.getByRole('tab', { selected: true }).allInnerTexts(), state: await page.locator('.inspector h2').innerText() };
  await page.goto(`${address}/console/execution/${arn}-missing`);
  const missing = await page.locator('.empty h1').innerText();
  return { machines, selected, said, banner, input, found, table, graph, first, last, elements, markup, pressed, pages, odd, missing };
}
