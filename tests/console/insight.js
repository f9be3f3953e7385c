// Looks at a machine's figures, the costs and copies of an execution, an imported history, a recording and simulations.
// Arguments: the machine, an execution of it, an Express machine, a file with the history, and the ids of two simulations.

import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { address, drive, given } from './drive.js';

const [machine, arn, express, history, first, second] = given;
await drive(walk);

async function walk(page, look) {
  const figures = await heat(page);
  const copies = await execution(page, look);
  const imported = await importing(page);
  const recorded = await recording(page);
  const simulated = await simulations(page);
  return { figures, copies, imported, recorded, simulated };
}

async function heat(page) {
  await page.goto(`${address}/console/heat/${machine}`);
  await page.locator('.figures .node').first().waitFor();
  await page.checkAccess();
  const table = await page.locator('.insight tbody tr').evaluateAll((rows) => rows.map((row) => [row.cells[0].innerText, row.cells[2].innerText]));
  await page.getByRole('button', { name: 'Visits', exact: true }).click();
  const graph = await page.locator('.figures .node').evaluateAll((nodes) => nodes.map((node) => node.getAttribute('aria-label')));
  await page.locator('.figures [data-state="Begin"]').focus();
  await page.locator('.figures [data-state="Begin"]').press('Enter');
  const chosen = await page.locator('.side h2').innerText();
  await page.getByRole('tab', { name: 'Occupancy' }).click();
  await page.locator('.side tbody tr').first().waitFor();
  await page.checkAccess();
  const standing = await page.locator('.side tbody tr').evaluateAll((rows) => rows.map((row) => [row.cells[0].innerText, row.cells[1].innerText]));
  await page.getByRole('tab', { name: 'Cost' }).click();
  await page.locator('.costs .total').waitFor();
  await page.checkAccess();
  const total = await page.locator('.costs .total').innerText();
  const markup = await page.evaluate(() => document.querySelectorAll('main script, main img, main b b').length);
  return { table, graph, chosen, standing, total, markup };
}

async function execution(page, look) {
  await page.goto(`${address}/console/execution/${arn}`);
  await page.getByRole('slider').waitFor();
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Cost', exact: true }).click();
  await page.locator('dialog .total').waitFor();
  await page.checkAccess();
  const total = await page.locator('dialog .total').innerText();
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  const refused = await refusedCopy(page);
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export page' }).click()]);
  const path = join(tmpdir(), `${process.pid}-${look.name.replace(' ', '-')}.html`);
  await file.saveAs(path);
  return { total, refused, file: file.suggestedFilename(), ...await offline(page, path) };
}

/** What the page says when the browser does not let it copy. */
async function refusedCopy(page) {
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new DOMException('Write permission denied.', 'NotAllowedError'));
  });
  await page.getByRole('button', { name: 'Copy link to this moment' }).click();
  return page.getByText('The browser did not copy it').innerText();
}

/** Opens a file from disk, in a page of its own that may ask for nothing. */
async function offline(page, path) {
  const other = await page.context().newPage();
  const complaints = [];
  other.on('console', (message) => (message.type() === 'error' || message.type() === 'warning' ? complaints.push(message.text()) : null));
  other.on('pageerror', (error) => complaints.push(error.message));
  other.on('request', (request) => (request.url().startsWith('file://') && request.isNavigationRequest() ? null : complaints.push(`asked ${request.url().slice(0, 100)}`)));
  await other.goto(`file://${path}`);
  await other.locator('.node.selected').waitFor();
  const note = await other.locator('.note').innerText();
  const nodes = await other.locator('.node').count();
  await other.getByRole('tab', { name: 'Input' }).click();
  await other.locator('.json .line').first().waitFor();
  const input = await other.locator('.json').innerText();
  await other.getByRole('slider').focus();
  await other.getByRole('slider').press('Home');
  const at = await other.getByRole('slider').getAttribute('aria-valuenow');
  await other.getByRole('tab', { name: 'Events' }).click();
  await other.getByRole('searchbox').fill('ExecutionStarted');
  await other.waitForFunction(() => document.querySelectorAll('.events tbody tr').length === 1);
  await other.getByRole('button', { name: 'Cost', exact: true }).click();
  const total = await other.locator('dialog .total').innerText();
  await other.keyboard.press('Escape');
  const address = new URL(other.url());
  const markup = await other.evaluate(() => document.querySelectorAll('main script, main img, main b b').length);
  await other.close();
  return { offline: { note, nodes, input, at, total, hash: address.hash.split('?')[0].slice(0, 24), markup, complaints } };
}

async function importing(page) {
  await page.goto(`${address}/console/import`);
  await page.checkAccess();
  await page.getByLabel('History (JSON)', { exact: true }).fill('{"States": {}}');
  await page.getByRole('button', { name: 'Show' }).click();
  const refused = await page.locator('form [role="alert"]').innerText();
  await page.locator('input[type="file"]').first().setInputFiles(history);
  await page.getByText(/characters$/).waitFor();
  await page.getByRole('button', { name: 'Show' }).click();
  await page.getByRole('link', { name: 'Show it' }).click();
  await page.locator('.node.selected').waitFor();
  await page.checkAccess();
  const shown = { title: await page.locator('h1').innerText(), nodes: await page.locator('.node').count(), actions: await page.locator('.actions .action').allInnerTexts(), exports: await page.getByRole('button', { name: 'Export page' }).count() };
  await page.getByRole('tab', { name: 'Input' }).click();
  await page.locator('.json .line').first().waitFor();
  await page.reload();
  await page.locator('.empty').waitFor();
  return { refused, ...shown, gone: await page.locator('.empty').innerText() };
}

async function recording(page) {
  await page.goto(`${address}/console/express/${express}`);
  await page.getByText('Recording', { exact: true }).waitFor();
  await page.checkAccess();
  const empty = await page.locator('.empty h2').count();
  await page.getByRole('button', { name: 'Stop recording' }).click();
  await page.getByText('Not recording').waitFor();
  return { empty };
}

async function simulations(page) {
  await page.goto(`${address}/console/simulations?from=${encodeURIComponent(machine)}`);
  await page.locator('.list tbody tr').first().waitFor();
  await page.checkAccess();
  await page.getByRole('button', { name: 'Make a scenario' }).click();
  await page.waitForFunction(() => /** @type {any} */ (document.querySelector('textarea'))?.value.includes('arrivals:'));
  const scenario = await page.locator('textarea').inputValue();
  await page.locator('textarea').fill('project: /');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  const refused = await page.locator('form [role="alert"]').innerText();
  await page.goto(`${address}/console/simulations/${first}?with=${second}`);
  await page.locator('.chart').first().waitFor();
  await page.locator('.differs').first().waitFor();
  await page.checkAccess();
  const charts = await page.locator('.chart h3').allInnerTexts();
  const differs = await page.locator('.differs').evaluateAll((rows) => rows.map((row) => row.cells[0].innerText));
  await page.locator('.chart summary').first().click();
  const numbers = await page.locator('.chart').first().locator('tbody tr').count();
  return { scenario, refused, charts, differs, numbers };
}
