// Goes from one region of a server to another, and looks at lists, resources and links there.

import { address, drive, given, LOOKS } from './drive.js';

const [run] = given;
const HOME = 'us-east-1';
const AWAY = 'eu-west-1';

await drive(walk, LOOKS.filter(({ colorScheme }) => colorScheme === 'light'));

async function walk(page, look) {
  const open = async (/** @type {string} */ path) => {
    await page.goto(`${address}/console/${path}`);
    await page.locator('main h1').waitFor();
  };
  const region = () => page.getByRole('combobox', { name: 'Region' });
  const choose = async (/** @type {string} */ name) => {
    await region().selectOption(name);
    await page.waitForFunction((/** @type {string} */ wanted) => (new URLSearchParams(location.search).get('region') ?? 'us-east-1') === wanted, name);
  };
  const here = () => page.url().slice(address.length);
  const names = async (/** @type {string} */ name) => {
    await page.locator('tbody td.name a', { hasText: name }).first().waitFor();
    return page.locator('tbody td.name a').allInnerTexts();
  };
  const bodies = async () => {
    await page.locator('#queue-part td.mono').first().waitFor();
    return page.locator('#queue-part td.mono').allInnerTexts();
  };
  const shown = {};

  // Lists: the region is in the address, and links keep it.
  await open('executions');
  shown.lists = { home: await names(`in-${HOME}`) };
  shown.lists.regions = await region().locator('option').allInnerTexts();
  await choose(AWAY);
  shown.lists.away = await names(`in-${AWAY}`);
  shown.lists.address = here();
  await page.checkAccess();
  await page.locator('nav.rail a[title="Queues"]').click();
  await page.getByRole('heading', { level: 1, name: 'Queues' }).waitFor();
  shown.lists.queues = here();

  // A resource of that region: read, and changed there.
  await page.getByRole('link', { name: 'orders', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'orders' }).waitFor();
  await page.getByRole('button', { name: 'Send…' }).click();
  await page.getByLabel('Body').fill(`by hand, ${look.width}`);
  await page.locator('dialog').getByRole('button', { name: 'Send', exact: true }).click();
  await page.locator('dialog').getByRole('button', { name: 'Close', exact: true }).last().click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await page.locator('#queue-part td.mono', { hasText: `by hand, ${look.width}` }).waitFor();
  shown.queue = { address: here(), bodies: await bodies() };
  await choose(HOME);
  shown.back = { address: here() };
  await page.getByRole('link', { name: 'orders', exact: true }).click();
  await page.getByText(`from ${HOME}`).first().waitFor();
  shown.back.bodies = await bodies();

  // The page of an ARN is in its region.
  await page.goto(`${address}/console/execution/${run}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await region().waitFor();
  shown.run = { address: here(), chosen: await region().inputValue() };
  await page.locator('nav.rail a[title="State machines"]').click();
  shown.run.machines = await names(`machine-${AWAY}`);

  // A region that nothing has used says so.
  await open('queues?region=ap-south-1');
  await page.locator('.banner').first().waitFor();
  shown.missing = { said: await page.locator('.banner').first().innerText() };
  await choose(HOME);
  shown.missing.left = here();
  return shown;
}
