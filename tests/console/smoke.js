// Opens the overview and an execution, whose ARN is the argument, in one look: the page runs at all.

import { address, drive, given } from './drive.js';

const [arn] = given;

await drive(async (page) => {
  await page.goto(`${address}/console`);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.goto(`${address}/console/execution/${arn}`);
  await page.locator('.node.selected').waitFor();
  return { status: await page.locator('.title .badge').first().innerText(), states: await page.locator('.node').count() };
}, [{ colorScheme: 'light', width: 1440, name: 'once' }]);
