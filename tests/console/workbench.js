// Looks at the Workbench and at the page of a state machine; its ARN, an execution's, and a hostile definition are the arguments.

import { address, drive, given } from './drive.js';

const [machine, execution] = given;
const hostile = given[2].replaceAll('$LONG', 'x'.repeat(80_000));
await drive(walk);

function editor(page, label = 'Definition') {
  return page.getByRole('textbox', { name: label, exact: true });
}

/** Replaces the text of an editor, as pasting does. */
async function write(page, text, label) {
  await editor(page, label).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(text);
}

async function walk(page, look) {
  const definition = await workbench(page, look);
  const pages = await machinePages(page, look);
  const pinned = await pin(page);
  return { ...definition, ...pages, pinned };
}

async function workbench(page, look) {
  await page.goto(`${address}/console/workbench`);
  await editor(page).waitFor();
  await page.locator('.node').first().waitFor();
  await page.checkAccess();
  const first = await page.locator('.node').count();

  await page.getByRole('tab', { name: 'Run' }).click();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByRole('button', { name: 'Save as case' }).waitFor();
  await page.checkAccess();
  const ran = await page.locator('.node.on-ok').count();
  const parts = await page.locator('.wb-result [role="tab"]').allInnerTexts();
  await page.getByRole('button', { name: 'Save as case' }).click();
  const saved = await page.locator('.wb-casetext').innerText();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
  const file = download.suggestedFilename();
  await page.checkAccess();
  await page.getByRole('button', { name: 'Close' }).click();

  await page.getByRole('tab', { name: 'Try a state' }).click();
  await page.getByRole('combobox', { name: /^State/ }).selectOption('Price order');
  await page.getByRole('textbox', { name: /^Result/ }).fill('{"Payload": {"total": 7}}');
  await page.getByRole('button', { name: 'Try', exact: true }).click();
  await page.locator('.wb-result .badge').waitFor();
  const tried = await page.locator('.wb-result .badge').innerText();
  const output = await page.locator('.wb-result > .json').innerText();
  await page.checkAccess();

  // A mistake keeps the last graph, and a click on its problem leads to its line.
  await write(page, '{"StartAt": "A",\n "States": {"A": {"Type": "Pass", "Next": "Nowhere"}}}');
  await page.getByRole('tab', { name: 'Problems' }).click();
  await page.locator('.wb-problems button').first().waitFor();
  const problems = await page.locator('.wb-problems li').allInnerTexts();
  await page.locator('.wb-problems button').first().click();
  await page.waitForFunction(() => document.activeElement?.className === 'editor');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Tab');
  const left = await page.evaluate(() => document.activeElement?.className !== 'editor');
  await write(page, '{"StartAt": ');
  await page.locator('.wb-old').waitFor();
  const old = await page.locator('.wb-old').innerText();

  // What is written survives a reload; leaving the page asks.
  page.on('dialog', (dialog) => dialog.accept());
  await page.reload();
  await editor(page).waitFor();
  const kept = await editor(page).innerText();
  await write(page, hostile);
  await page.locator('.node').first().waitFor();
  await page.waitForFunction(() => document.querySelector('.wb-hint')?.textContent?.includes('No problems') || document.querySelectorAll('.wb-problems li').length > 0);
  await page.checkAccess();
  const markup = await page.evaluate(() => document.querySelectorAll('main b b, main script, main img').length);
  const names = await page.locator('.node').evaluateAll((nodes) => nodes.map((node) => node.getAttribute('aria-label').slice(0, 60)));
  const wide = await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
  // Without its library the editor is a plain text field.
  await page.route('**/vendor_editor.js', (request) => request.abort());
  await page.goto(`${address}/console/workbench`);
  await page.locator('textarea.plaintext').fill('{"StartAt": "A"}');
  await page.locator('.wb-problems button').first().click();
  await page.waitForFunction(() => document.activeElement?.className === 'plaintext');
  const plain = await page.evaluate(() => document.activeElement?.className);
  await page.unroute('**/vendor_editor.js');
  return { look: look.name, first, ran, parts, saved, file, tried, output, problems, left, old, kept, markup, names, wide, plain };
}

async function machinePages(page, look) {
  const shown = {};
  for (const tab of ['executions', 'graph', 'definition', 'versions', 'diff', 'metrics', 'tags', 'settings']) {
    await page.goto(`${address}/console/machine/${machine}?tab=${tab}`);
    await page.getByRole('tab', { selected: true }).first().waitFor();
    await page.locator('.machinebody > *:not(p.faint)').first().waitFor();
    if (tab === 'definition') await editor(page).waitFor();
    if (tab === 'diff') await page.locator('.node.d-added').first().waitFor();
    await page.checkAccess();
    shown[tab] = await page.locator('.machinebody').innerText();
  }
  await page.goto(`${address}/console/machine/${machine}?tab=diff`);
  await page.locator('.node.d-changed').first().click();
  const fields = await page.locator('.wb-difference .banner').innerText();
  const looks = await page.locator('.node').evaluateAll((nodes) => nodes.map((node) => node.getAttribute('aria-label')).filter((label) => /added|removed|changed/.test(label)));
  await page.getByRole('tab', { name: 'Text', exact: true }).click();
  const text = await page.locator('.wb-unified').innerText();
  await page.goto(`${address}/console/machine/${machine}:99`);
  const missing = await page.locator('.empty h1').innerText();
  // From its page into the Workbench, changed, and the difference before it is saved.
  await page.goto(`${address}/console/machine/${machine}`);
  await page.getByRole('link', { name: 'Edit in Workbench' }).click();
  await page.getByRole('button', { name: /^Drop them, and open/ }).click();
  await page.locator('.title .badge.t-accent').waitFor();
  await page.waitForFunction(() => document.querySelectorAll('.node').length > 0);
  // Each look saves another time limit, since all of them are of one server.
  const stored = await editor(page).innerText();
  await write(page, stored.replace(/\u200b/g, '').replace(/^\{(\s*"TimeoutSeconds": \d+,)?/, `{ "TimeoutSeconds": ${look.width + look.name.length},`));
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.locator('dialog .wb-difference').waitFor();
  await page.checkAccess();
  const before = await page.locator('dialog .wb-legend').innerText();
  await page.getByLabel('Publish it as a version').uncheck();
  await page.locator('dialog').getByRole('button', { name: 'Save', exact: true }).click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await page.waitForFunction(() => !document.querySelector('.title .t-wait'));
  // What was saved elsewhere in the meantime is there when it is opened again.
  const elsewhere = await page.evaluate(async (arn) => {
    const { call } = await import('/console/static/api.js');
    const found = await call('states', 'DescribeStateMachine', { stateMachineArn: arn });
    const definition = found.definition.replace(/"TimeoutSeconds": *\d+/, '"TimeoutSeconds": 4242');
    await call('states', 'UpdateStateMachine', { stateMachineArn: arn, definition });
    return definition.includes('4242');
  }, machine);
  await page.goto(`${address}/console/machine/${machine}`);
  await page.getByRole('link', { name: 'Edit in Workbench' }).click();
  await editor(page).getByText('4242').waitFor();
  return { elsewhere, tabs: shown, fields, looks, text, missing, before };
}

async function pin(page) {
  await page.goto(`${address}/console/execution/${execution}`);
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Pin as test' }).click();
  await page.locator('.wb-casetext').waitFor();
  await page.checkAccess();
  return { text: await page.locator('.wb-casetext').innerText(), said: await page.locator('dialog .banner').innerText() };
}
