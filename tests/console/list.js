// Walks through the lists by mouse and keys: overview, machines, executions with filters and search, palette, help, bulk.

import { address, drive, given } from './drive.js';

const [machine] = given;
await drive(walk);

/** Looks at every list, as a user would. */
async function walk(page, look) {
  const names = () => page.locator('.executions tbody tr:not(.room) .name bdi').allInnerTexts();
  const rows = (count) => page.waitForFunction((wanted) => document.querySelectorAll('.executions tbody tr:not(.room)').length === wanted, count);
  const shown = {};

  // The overview leads to the filtered list.
  await page.goto(`${address}/console`);
  await page.locator('.tile-card').first().waitFor();
  await page.checkAccess();
  shown.tiles = (await page.locator('.tile-card').allInnerTexts()).map((text) => text.replace(/\s+/g, ' '));
  await page.getByRole('link', { name: '2 running' }).click();
  await rows(2);
  shown.running = await names();
  shown.status = await page.getByLabel('Status', { exact: true }).inputValue();

  // Keys: g m to the machines, which a name filters on the server.
  await page.locator('h1').click();
  await page.keyboard.press('g');
  await page.keyboard.press('m');
  await page.locator('.machines tbody tr').first().waitFor();
  await page.checkAccess();
  shown.machines = await page.locator('.machines .name bdi').allInnerTexts();
  await page.getByRole('searchbox').fill('SECOND');
  await page.waitForFunction(() => document.querySelectorAll('.machines tbody tr').length === 1);
  shown.filtered = await page.locator('.machines .name bdi').allInnerTexts();
  shown.address = new URL(page.url()).search;

  // The list, its rows by j and k, and one that is opened.
  await page.goto(`${address}/console/executions`);
  await rows(50);
  await page.checkAccess();
  shown.elements = await page.evaluate(() => document.querySelectorAll('*').length);
  await page.locator('h1').click();
  for (const key of ['j', 'j', 'j', 'k']) await page.keyboard.press(key);
  shown.focused = await page.evaluate(() => document.activeElement?.textContent);
  await page.getByRole('button', { name: 'Show older executions' }).click();
  await page.waitForFunction(() => document.querySelector('.executions')?.getAttribute('aria-rowcount') === '131');
  shown.drawn = await page.locator('.executions tbody tr:not(.room)').count();
  await page.locator('.rows').evaluate((box) => box.scrollTo(0, 1e9));
  await page.getByText('order-0', { exact: true }).waitFor();
  shown.last = (await names()).at(-1);

  // Filters stand in the address.
  await page.getByLabel('Status', { exact: true }).selectOption({ label: 'failed, any way' });
  await rows(13);
  await page.getByRole('button', { name: 'Machine any' }).click();
  await page.getByLabel('Name of a state machine').fill('second');
  await page.locator('.menu').getByRole('button', { name: 'second' }).click();
  await page.waitForURL(/machine=/);
  await page.getByText('No execution matches.').waitFor();
  shown.query = Object.fromEntries(new URL(page.url()).searchParams);
  await page.goBack();
  await rows(13);
  await page.getByRole('link', { name: 'Show all' }).count();

  // Plain text, a condition, a mistake.
  await page.goto(`${address}/console/executions`);
  const box = page.getByLabel('Search in names, inputs, outputs and errors');
  await box.fill('input.order = "o-7"');
  await box.press('Enter');
  await rows(1);
  await page.getByText('Looked at all 130 executions.').waitFor();
  shown.found = await page.locator('.said').innerText();
  shown.marked = await page.locator('.said mark').innerText();
  await page.checkAccess();
  await box.fill('input.order =');
  await box.press('Enter');
  await page.getByRole('alert').waitFor();
  shown.mistake = await page.getByRole('alert').innerText();
  await page.checkAccess();

  // The palette, and an ARN that is pasted.
  await page.locator('h1').click();
  await page.keyboard.press('/');
  const palette = page.getByRole('combobox', { name: 'Search and go' });
  await palette.fill('order-7');
  await page.getByRole('option', { name: 'order-7 first' }).waitFor();
  await page.checkAccess();
  await palette.press('Enter');
  await page.waitForURL(/\/console\/execution\/.*order-7$/);
  shown.opened = await page.locator('h1').innerText();
  await page.keyboard.press('Control+k');
  await palette.fill(machine);
  await page.getByRole('option', { name: /of this state machine|this state machine/ }).waitFor();
  await palette.press('Escape');
  await page.waitForFunction(() => !document.querySelector('dialog[open]'));
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.checkAccess();
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !document.querySelector('dialog[open]'));

  // Theme and zone are kept.
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  shown.background = await background();
  const other = look.colorScheme === 'light' ? 'Dark' : 'Light';
  while ((await page.getByRole('button', { name: /^Theme:/ }).getAttribute('aria-label')) !== `Theme: ${other}`) await page.getByRole('button', { name: /^Theme:/ }).click();
  shown.other = await background();
  await page.reload();
  await page.locator('.rail').waitFor();
  shown.kept = await background();
  await page.getByRole('button', { name: 'Times in UTC' }).click();

  // Rows that are chosen by keys, and a preview that changes nothing.
  await page.goto(`${address}/console/executions?status=RUNNING`);
  await rows(2);
  await page.getByRole('button', { name: 'Select' }).click();
  await page.locator('h1').click();
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await page.getByText('1 chosen').waitFor();
  await page.getByRole('button', { name: 'Stop…' }).click();
  await page.getByText('1 execution will be stopped').waitFor();
  await page.checkAccess();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Redrive all…' }).click();
  await page.getByText('None of them can be redriven.').waitFor();
  shown.skipped = await page.locator('.dialog li').innerText();
  await page.getByRole('button', { name: 'Cancel' }).click();

  // A wrong address says where to go.
  await page.goto(`${address}/console/machin`);
  shown.wrong = await page.locator('.empty p').first().innerText();
  await page.checkAccess();
  return shown;
}
