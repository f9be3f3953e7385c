// Looks at the pages of schedules, topics, tables, objects, jobs, events, APIs and stacks, and changes what they can change.

import { address, drive } from './drive.js';

await drive(walk);

async function walk(page, look) {
  const tag = look.name.replace(' ', '-');
  const shown = {};
  const open = async (/** @type {string} */ path) => {
    await page.goto(`${address}/console/${path}`);
    await page.locator('main h1').waitFor();
  };
  const names = () => page.locator('tbody tr td.name').allInnerTexts();
  const submit = (/** @type {string} */ name) => page.locator('dialog').getByRole('button', { name, exact: true }).click();
  const closed = () => page.locator('dialog').waitFor({ state: 'detached' });

  // Schedules: the list, its filter in the address, a new one with its instants, pause, run now, delete by typing its name.
  await open('schedules');
  await page.getByRole('link', { name: 'nightly' }).waitFor();
  await page.checkAccess();
  await page.getByRole('searchbox').fill('NIGHT');
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1 && location.search.includes('NIGHT'));
  shown.schedules = await names();
  shown.words = await page.locator('tbody tr td').nth(2).innerText();
  await open('schedules?q=nothing-has-this-name');
  shown.none = await page.locator('.empty').innerText();
  await page.getByRole('button', { name: 'Create schedule' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill(`made-${tag}`);
  await page.getByLabel('Expression').fill('rate(0 minutes)');
  await page.locator('dialog .fail').waitFor();
  shown.refused = await page.locator('dialog .fail').innerText();
  await page.getByLabel('Expression').fill('cron(0 8 ? * MON-FRI *)');
  await page.getByText('at 08:00, Monday to Friday').waitFor();
  await page.checkAccess();
  await page.getByLabel('Target (ARN)').fill('arn:aws:states:us-east-1:000000000000:stateMachine:catalogue');
  await page.getByLabel('Input').fill('{"by": "hand"}');
  await submit('Create');
  await page.getByRole('heading', { level: 1, name: `made-${tag}` }).waitFor();
  await page.locator('.cat-nexts li').nth(4).waitFor();
  await page.checkAccess();
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.locator('.title .badge', { hasText: 'Paused' }).waitFor();
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.locator('.cat-note a').waitFor();
  await page.getByText('Delivered').first().waitFor();
  shown.ran = await page.locator('.cat-note').innerText();
  await page.getByRole('button', { name: 'Delete' }).click();
  shown.mayDelete = await page.locator('dialog').getByRole('button', { name: 'Delete', exact: true }).isEnabled();
  await page.locator('dialog input').fill(`made-${tag}`);
  await submit('Delete');
  await page.getByRole('heading', { level: 1, name: 'Schedules' }).waitFor();
  await open('schedules/schedule:default%2Fmissing');
  await page.locator('.banner').waitFor();
  shown.missing = await page.locator('.banner span').innerText();

  // Topics: subscriptions with hostile filters, publishing.
  await open('topics');
  await page.getByRole('link', { name: 'orders', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'orders' }).waitFor();
  await page.locator('tbody code').first().waitFor();
  await page.checkAccess();
  shown.filter = await page.locator('tbody code').first().innerText();
  await page.getByRole('button', { name: 'Publish' }).click();
  await page.getByRole('textbox', { name: 'Message' }).fill('hello');
  await page.getByLabel('Attributes').fill('no pair');
  await submit('Publish');
  await page.locator('dialog .fail').waitFor();
  await page.getByLabel('Attributes').fill('kind=placed');
  await submit('Publish');
  await closed();

  // Tables: exact numbers, a query in the address, an item that is changed, one that was changed meanwhile.
  await open('tables/orders?pk=c-1&op=ge&sk=3');
  await page.locator('tbody tr').first().waitFor();
  await page.checkAccess();
  shown.items = await page.locator('tbody tr').evaluateAll((rows) => rows.map((row) => row.cells[1].innerText));
  shown.exact = await page.getByText('12345678901234567890.12345').count();
  await open('tables/orders');
  await page.getByRole('button', { name: 'Next page' }).click();
  await page.getByRole('button', { name: 'First page' }).waitFor();
  await page.getByRole('button', { name: 'Create item' }).click();
  await page.getByLabel('The item in').fill(JSON.stringify({ customer: { S: `made ${tag}` }, order: { N: '1' }, text: { S: '</script>' } }));
  await submit('Create');
  await closed();
  const made = `tables/orders?pk=${encodeURIComponent(`made ${tag}`)}`;
  await open(made);
  await page.getByRole('button', { name: `Open made ${tag}` }).click();
  await page.getByRole('tab', { name: 'JSON' }).click();
  shown.json = await page.locator('dialog .json').innerText();
  await page.checkAccess();
  await page.getByRole('tab', { name: 'Edit' }).click();
  await page.getByLabel('The item in').fill('{"customer": "no type"}');
  await submit('Save, if it is unchanged');
  await page.locator('dialog .fail').waitFor();
  shown.untyped = await page.locator('dialog .fail').innerText();
  // Another writer comes first.
  await page.evaluate((customer) => fetch('/console/api/call', { method: 'POST', headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ service: 'dynamodb', operation: 'PutItem', request: { TableName: 'orders', Item: { customer: { S: customer }, order: { N: '1' }, text: { S: 'other' } } } }) }).then((answer) => answer.text()), `made ${tag}`);
  await page.getByLabel('The item in').fill(JSON.stringify({ customer: { S: `made ${tag}` }, order: { N: '1' } }));
  await submit('Save, if it is unchanged');
  await page.locator('dialog .fail', { hasText: 'meanwhile' }).waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await closed();
  await open(made);
  await page.getByRole('button', { name: `Open made ${tag}` }).click();
  await page.locator('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.locator('dialog dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No item has this key.').waitFor();
  await open('tables/orders?view=statement');
  await page.getByLabel('Statement').fill("DELETE FROM orders WHERE customer = 'c-1'");
  await page.getByRole('button', { name: 'Run' }).click();
  await page.locator('main .banner').waitFor();
  shown.statement = await page.locator('main .banner').innerText();
  await page.getByLabel('Statement').fill("SELECT customer FROM orders WHERE customer = 'c-1'");
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('button', { name: 'Open c-1' }).first().waitFor();
  await page.checkAccess();

  // Objects: folders with hostile names, a picture, a text that claims to be one, an upload, a download.
  await open('objects/reports');
  await page.getByRole('link', { name: 'folder/' }).waitFor();
  await page.checkAccess();
  shown.folders = await names();
  await open('objects/reports?key=pixel.png');
  await page.locator('img.cat-preview').waitFor();
  shown.picture = await page.locator('img.cat-preview').evaluate((image) => image.decode().then(() => image.naturalWidth));
  await page.checkAccess();
  await open('objects/reports?key=page.html');
  await page.locator('pre.cat-text').waitFor();
  shown.html = await page.locator('pre.cat-text').innerText();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
  shown.download = download.suggestedFilename();
  await open('objects/reports');
  await page.getByRole('button', { name: 'Upload' }).click();
  await page.locator('input[type=file]').setInputFiles({ name: `up ${tag}.txt`, mimeType: 'text/plain', buffer: Buffer.from('up') });
  await submit('Upload');
  await page.getByRole('heading', { level: 1, name: `up ${tag}.txt` }).waitFor();
  await page.locator('pre.cat-text').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.locator('dialog input').fill(`up ${tag}.txt`);
  await submit('Delete');
  await page.getByRole('heading', { level: 1, name: 'reports' }).waitFor();

  // Jobs: a failed one, and what it wrote.
  await open('jobs?status=failed');
  await page.getByRole('link', { name: 'failing' }).click();
  await page.locator('pre.cat-text').waitFor();
  await page.checkAccess();
  shown.output = await page.locator('pre.cat-text').innerText();

  // Events: the live view, filters, and which rules match.
  await open('events?source=shop');
  await page.getByText('0 events since').waitFor();
  await page.getByRole('button', { name: 'Put an event' }).click();
  await page.getByLabel('Source').last().fill('shop');
  await page.getByLabel('Detail type').last().fill('</script>\u202eplaced');
  await page.getByLabel('Detail (JSON)').fill('{"n": 1}');
  await submit('Put');
  await closed();
  await page.getByText('1 event since').waitFor();
  await page.getByRole('button', { name: 'shop' }).click();
  await page.locator('.json .line').first().waitFor();
  await page.checkAccess();
  shown.event = await page.locator('.json').innerText();
  await open('events?pattern={');
  await page.locator('main .banner').waitFor();
  shown.pattern = await page.locator('main .banner').innerText();
  await open('events?view=match');
  await page.getByRole('button', { name: 'Which rules match?' }).click();
  await page.getByText('1 rule of 2 matches').waitFor();
  await page.checkAccess();
  for (const view of ['rules', 'archives']) {
    await open(`events?view=${view}`);
    await page.locator('main table, main .empty').first().waitFor();
    await page.checkAccess();
  }

  // The map, around a name, and the page of a resource on it.
  await open('flow');
  await page.locator('a.cat-node').first().waitFor();
  await page.checkAccess();
  await page.getByRole('searchbox').fill('nightly');
  await page.waitForFunction(() => document.querySelectorAll('.cat-node').length === 2);
  shown.flow = await page.locator('.cat-node').evaluateAll((nodes) => nodes.map((node) => node.getAttribute('aria-label')));
  await page.locator('a.cat-node').first().focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'nightly' }).waitFor();

  // APIs and stacks.
  await open('apis');
  await page.locator('tbody a').first().click();
  await page.getByRole('table').waitFor();
  await page.checkAccess();
  await open('stacks/demo');
  await page.getByRole('tab', { name: 'Outputs' }).click();
  await page.getByText('Url').waitFor();
  await page.checkAccess();
  await page.getByRole('tab', { name: 'Outputs' }).press('ArrowRight');
  await page.getByText('DemoQueue').first().waitFor();

  shown.markup = await page.evaluate(() => document.querySelectorAll('main b b, main script, main img').length);
  shown.wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  return shown;
}
