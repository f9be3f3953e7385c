// Looks at the pages of services and at a Map Run of very many items, and does what they offer. Its arguments: the ARNs
// of the Map Run, of an open one, and of an execution with a function, and the name of a semaphore.

import { address, drive, given } from './drive.js';

const [mapRun, openRun, execution, semaphore] = given;
await drive(walk);

/** @param {any} page @param {any} look */
async function walk(page, look) {
  const name = `made-${look.name.replace(' ', '-')}`;
  return {
    map: await aMapRun(page), open: await anOpenRun(page), waiting: await waiting(page), limits: await limits(page, look),
    queue: await queues(page, name), function: await functions(page), logs: await logs(page), missing: await missing(page),
    markup: await page.evaluate(() => document.querySelectorAll('main b b, main script, main img').length),
  };
}

function rows(page) {
  return page.locator('tbody tr');
}

async function aMapRun(page) {
  await page.goto(`${address}/console/map-run/${mapRun}`);
  await page.locator('canvas').waitFor();
  await rows(page).first().waitFor();
  await page.waitForFunction(() => document.querySelector('canvas')?.getAttribute('aria-label')?.includes('Failed'));
  await page.checkAccess();
  const said = await page.locator('canvas').getAttribute('aria-label');
  const elements = await page.evaluate(() => document.querySelectorAll('*').length);
  const drawn = await page.evaluate(() => {
    const canvas = document.querySelector('canvas');
    const { data } = canvas.getContext('2d').getImageData(1, 1, 1, 1);
    return data[3] > 0;
  });
  const first = await page.locator('.list').last().locator('tbody tr').first().locator('td').allInnerTexts();
  await page.getByText('Values as a table').click();
  await page.locator('.data tbody tr').first().waitFor();
  // The first cell is the first of those that failed.
  await page.locator('canvas').click({ position: { x: 2, y: 2 } });
  await page.waitForFunction(() => new URLSearchParams(location.search).get('item'));
  const clicked = new URL(page.url()).searchParams.get('item');
  await page.getByRole('button', { name: 'Succeeded', exact: true }).click();
  await page.waitForFunction(() => [...document.querySelectorAll('.list')].at(-1)?.querySelector('.t-fail') === null);
  await page.getByRole('link', { name: 'Next page' }).click();
  await page.getByRole('link', { name: 'First page' }).waitFor();
  await page.getByRole('button', { name: 'Failed', exact: true }).click();
  await page.locator('.list').last().locator('.name a').first().click();
  await page.locator('.node').first().waitFor();
  const child = await page.locator('.title .badge').first().innerText();
  return { said, elements, drawn, first, clicked, child };
}

async function anOpenRun(page) {
  await page.goto(`${address}/console/map-run/${openRun}`);
  await page.getByRole('button', { name: 'Change limits' }).click();
  const most = page.getByLabel(/Children at a time/);
  const before = Number(await most.inputValue());
  await most.fill(String(before + 1));
  await page.checkAccess();
  await page.getByRole('dialog').getByRole('button', { name: 'Change', exact: true }).click();
  await page.getByText(`at most ${before + 1}`).waitFor();
  return { before };
}

async function waiting(page) {
  await page.goto(`${address}/console/waiting`);
  await rows(page).first().waitFor();
  await page.checkAccess();
  const tasks = await rows(page).locator('.name').allInnerTexts();
  const search = page.getByRole('searchbox');
  await search.fill('packing');
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
  await search.fill('nothing of that name');
  await page.getByText('Nothing that waits matches').waitFor();
  await search.fill('');
  await rows(page).first().waitFor();
  await page.getByRole('combobox', { name: 'Waits' }).selectOption('86400000');
  await page.getByText('Nothing that waits matches').waitFor();
  await page.goto(`${address}/console/waiting?kind=starts`);
  await rows(page).first().waitFor();
  const starts = await rows(page).locator('.name').allInnerTexts();
  return { tasks, starts };
}

async function limits(page, look) {
  await page.goto(`${address}/console/limits`);
  await page.getByRole('link', { name: semaphore }).waitFor();
  await page.checkAccess();
  await page.getByRole('link', { name: semaphore }).click();
  const holder = page.locator('.list').first().locator('tbody tr').first();
  await holder.waitFor();
  const held = await holder.locator('.name').innerText();
  await holder.getByRole('button').press('Enter');
  const dialog = page.getByRole('dialog');
  const release = dialog.getByRole('button', { name: 'Release' });
  await dialog.getByLabel(/Reason/).fill('a test');
  const early = await release.isDisabled();
  await dialog.getByLabel(/to confirm/).fill('something else');
  const wrong = await release.isDisabled();
  await page.checkAccess();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  if (look.name === 'light 1440') {
    await holder.getByRole('button').click();
    await dialog.getByLabel(/Reason/).fill('a test');
    await dialog.getByLabel(/to confirm/).fill(held);
    await release.click();
    await dialog.waitFor({ state: 'detached' });
    await page.waitForFunction((before) => document.querySelector('.list tbody tr .name')?.innerText !== before, held);
  }
  return { held, early, wrong };
}

async function queues(page, name) {
  await page.goto(`${address}/console/queues`);
  await page.getByRole('button', { name: 'Create queue' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('not a name');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  const refused = await page.getByRole('dialog').getByRole('alert').innerText();
  await page.getByRole('dialog').getByLabel('Name').fill(name);
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { name, exact: true }).waitFor();
  await page.getByText('The queue is empty').waitFor();
  await page.getByRole('button', { name: 'Send…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Body').fill('{"order": "</script><img src=x>", "inner": "{\\"deep\\": 1}"}');
  await dialog.getByLabel(/Message attributes/).fill('no attribute');
  await dialog.getByRole('button', { name: 'Send', exact: true }).click();
  const fault = await dialog.getByRole('alert').innerText();
  await dialog.getByLabel(/Message attributes/).fill('kind=order');
  await page.checkAccess();
  await dialog.getByRole('button', { name: 'Send', exact: true }).click();
  await dialog.getByRole('status').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /^Open message/ }).click();
  await page.locator('.result .json .line').first().waitFor();
  const body = await page.locator('.result .json').innerText();
  await page.checkAccess();
  for (const tab of ['Moves', 'Settings', 'Readers']) {
    await page.getByRole('tab', { name: tab }).click();
    await page.waitForFunction(() => document.querySelector('#queue-part')?.textContent.includes('Reading…') === false);
    await page.checkAccess();
  }
  await page.getByRole('button', { name: 'Purge…' }).click();
  await page.getByLabel(/to confirm/).fill(name);
  await page.getByRole('button', { name: 'Delete all messages' }).click();
  await page.getByRole('heading', { name: '0 messages' }).waitFor();
  await page.goto(`${address}/console/queues?q=${name}`);
  await page.getByRole('button', { name: `Delete ${name}` }).click();
  const sure = page.getByRole('button', { name: 'Delete queue' });
  const early = await sure.isDisabled();
  await page.getByLabel(/to confirm/).fill(name);
  await sure.click();
  await page.getByText('No queue matches').waitFor();
  return { refused, fault, body, early };
}

async function functions(page) {
  await page.goto(`${address}/console/functions`);
  await rows(page).first().waitFor();
  await page.checkAccess();
  await page.getByRole('link', { name: 'charge' }).click();
  const event = page.getByLabel('Event, as JSON');
  await event.fill('{');
  const fault = await page.getByRole('alert').innerText();
  const invoke = page.getByRole('button', { name: 'Invoke', exact: true });
  const stopped = await invoke.isDisabled();
  await event.fill('{"name": "ü"}');
  await invoke.click();
  await page.locator('.result .json .line').first().waitFor();
  const result = await page.locator('.result .json').innerText();
  await page.checkAccess();
  await page.getByRole('tab', { name: 'Log' }).click();
  await page.locator('.loglines li').first().waitFor();
  const line = await page.locator('.loglines').getByText('seen').first().innerText();
  await page.getByRole('tab', { name: 'Settings' }).click();
  const hidden = await page.locator('#function-part').innerText();
  await page.getByRole('button', { name: 'Show values' }).click();
  const shown = await page.locator('#function-part').innerText();
  await page.checkAccess();
  await page.getByRole('tab', { name: 'Event sources' }).click();
  await page.getByRole('button', { name: /able$/ }).waitFor();
  const turned = await page.getByRole('button', { name: /able$/ }).innerText();
  await page.getByRole('button', { name: turned }).click();
  await page.getByRole('button', { name: turned === 'Enable' ? 'Disable' : 'Enable' }).waitFor();
  return { fault, stopped, result, line, hidden, shown };
}

async function logs(page) {
  await page.goto(`${address}/console/execution/${execution}?state=Charge&tab=logs`);
  await page.locator('.tabbody .json .line').first().waitFor();
  await page.checkAccess();
  return page.locator('.tabbody').innerText();
}

async function missing(page) {
  /** @type {string[]} */
  const said = [];
  for (const place of ['queue/none', 'function/none', `map-run/${mapRun}0`]) {
    await page.goto(`${address}/console/${place}`);
    await page.locator('.empty h1').waitFor();
    said.push(await page.locator('.empty h1').innerText());
  }
  return said;
}
