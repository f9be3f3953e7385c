// Signs in by a link, and starts, stops, redrives, forks and answers executions, by the mouse and by keys alone. Its
// arguments: the Python program, the folder of the settings with the access key, the ARNs of a machine that waits for an
// answer and of an Express one.

import { execFileSync } from 'node:child_process';
import { address, drive, given } from './drive.js';

const [python, folder, machine, express] = given;
await drive(walk);

/** The link of `statewright console`. */
function link(...more) {
  const command = ['-m', 'statewright.cli.main', 'console', '--print', '--endpoint', address, ...more];
  return execFileSync(python, command, { cwd: folder, encoding: 'utf8' }).trim();
}

/** Presses Tab until what has the focus reads like this. */
async function tabTo(page, words) {
  for (let presses = 0; presses < 200; presses += 1) {
    await page.keyboard.press('Tab');
    const here = await page.evaluate(() => `${document.activeElement?.textContent} ${document.activeElement?.id}`);
    if (here.includes(words)) return;
  }
  throw new Error(`Tab never reaches ${words}`);
}

/** Ends the session of a page on the server, and signs in anew in the dialog that comes. */
async function signInAnew(page) {
  await page.evaluate(async () => {
    const token = sessionStorage.getItem('statewright.token');
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    await fetch('/console/api/sessions/end', { method: 'POST', headers, body: JSON.stringify({ id: token.split('.')[0] }) });
  });
  const dialog = page.getByRole('dialog', { name: 'Sign in' });
  await dialog.waitFor();
  await page.checkAccess();
  for (let presses = 0; presses < 3; presses += 1) await page.keyboard.press('Escape');
  const isCovered = !(await page.locator('#main').isVisible());
  await dialog.locator('#link').fill(link());
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  return isCovered;
}

/** Reads the execution again until it has a status. */
async function reach(page, status) {
  const badge = page.locator('.title .badge', { hasText: status });
  while (!(await badge.count())) {
    await page.reload();
    await page.locator('.title .badge').first().waitFor();
  }
}

/** The words of the buttons of an execution. */
function buttons(page) {
  return page.locator('.actions .action').allInnerTexts();
}

async function walk(page, look) {
  const seen = {};
  await page.goto(`${address}/console/start/${machine}`);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.checkAccess();
  // A link in the same tab comes back to where the page was.
  await page.goto(link());
  await page.locator('#input').waitFor();
  seen.address = page.url().slice(address.length);

  // A wrong input has its place; a double click starts one execution.
  await page.fill('#input', '{"n": 1,}');
  seen.mistake = await page.locator('#input-said').innerText();
  seen.mayStart = await page.getByRole('button', { name: 'Start' }).isEnabled();
  await page.checkAccess();
  await page.fill('#input', `{"look": "${look.name}", "n": 12345678901234567890}`);
  await page.getByRole('button', { name: 'Start' }).dblclick();
  await page.locator('.banner.t-wait').waitFor();
  seen.banner = (await page.locator('.banner.t-wait span').first().innerText()).replace(/since .*\./, 'since ….');
  seen.running = await buttons(page);
  await page.getByRole('tab', { name: 'Input' }).click();
  await page.locator('.inspector .json .line').first().waitFor();
  seen.input = await page.locator('.inspector .json').innerText();
  await page.checkAccess();

  // Stop and redrive, by the mouse.
  await page.getByRole('button', { name: 'Stop…' }).click();
  await page.fill('#stop-error', 'Enough');
  await page.checkAccess();
  await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
  await page.locator('.title .badge', { hasText: 'Aborted' }).waitFor();
  seen.stopped = await page.locator('.banner.fail').innerText();
  await page.getByRole('button', { name: 'Redrive…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Redrive' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await reach(page, 'Running');
  await page.locator('.banner.t-wait').waitFor();

  // Answer, by keys alone.
  await tabTo(page, 'Answer…');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.checkAccess();
  await tabTo(page, 'output');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('{"by": "keys"}');
  await tabTo(page, 'Send success');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await reach(page, 'Succeeded');
  const first = page.url();
  seen.ended = await buttons(page);

  // Fork from inside a Map: from the Map itself, and by keys.
  await page.locator('[data-state="Item"]').press('Enter');
  await page.getByRole('button', { name: 'Fork from Each' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').locator('.note').waitFor();
  seen.inside = await page.getByRole('dialog').locator('form > p').first().innerText();
  await page.keyboard.press('Escape');
  seen.isClosed = (await page.getByRole('dialog').count()) === 0;
  await page.locator('[data-state="Ask"]').press('Enter');
  await page.getByRole('button', { name: 'Fork from Ask' }).click();
  await page.getByRole('dialog').locator('.note').waitFor();
  seen.repeats = await page.getByRole('dialog').locator('.note').innerText();
  seen.variables = await page.locator('#fork-variables').inputValue();
  await page.checkAccess();
  await page.fill('#fork-input', '{"forked": true}');
  await page.getByRole('dialog').getByRole('button', { name: 'Fork from Ask' }).dblclick();
  await page.waitForFunction((before) => location.href.split('?')[0] !== before, first.split('?')[0]);
  await page.locator('.banner.t-wait').waitFor();
  await page.getByRole('button', { name: 'Answer…' }).click();
  await page.getByText('Failure, with an error').click();
  await page.fill('#error', 'No');
  await page.getByRole('button', { name: 'Send failure' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await reach(page, 'Failed');
  seen.failed = await page.locator('.banner.fail').innerText();

  // One like the first has its input, digit by digit.
  await page.goto(first);
  await page.getByRole('link', { name: 'New like this' }).click();
  await page.locator('#input').waitFor();
  seen.like = await page.locator('#input').inputValue();
  seen.recent = await page.locator('.recent summary').innerText();

  // A session that ends leaves half-typed forms as they are.
  await page.fill('#input', '{"half": "ty');
  seen.kept = [await signInAnew(page), await page.locator('#input').inputValue()];
  await page.goto(first);
  await page.locator('[data-state="Ask"]').press('Enter');
  await page.getByRole('button', { name: 'Fork from Ask' }).click();
  await page.fill('#fork-input', '{"half": "fo');
  seen.kept.push(await signInAnew(page), await page.getByRole('dialog').locator('#fork-input').inputValue());
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });

  // The result of an Express execution, with Ctrl+Enter.
  await page.goto(`${address}/console/start/${express}`);
  await page.fill('#input', '{"a": 1}');
  await page.keyboard.press('Control+Enter');
  await page.locator('.result .json').waitFor();
  seen.result = await page.locator('.result .json').innerText();
  await page.checkAccess();

  // Another tab is signed in by this one.
  const other = await page.context().newPage();
  await other.goto(`${address}/console/settings`);
  await other.locator('tbody tr.on').waitFor();
  await other.close();

  // A read-only sign-in sees no buttons that change anything.
  await page.goto(link('--read-only'));
  await page.locator('.rail .badge').waitFor();
  await page.goto(first);
  await page.locator('.node').first().waitFor();
  seen.reader = [await buttons(page), await page.locator('.rail .badge').innerText()];
  await page.goto(`${address}/console/start/${machine}`);
  await page.getByText('may only read').waitFor();
  await page.goto(`${address}/console/settings`);
  await page.locator('tbody tr.on').waitFor();
  await page.checkAccess();
  seen.ends = await page.locator('tbody button').allInnerTexts();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  seen.out = await page.locator('.login [role="status"]').innerText();
  await page.fill('#link', 'x');
  seen.noLink = await page.locator('.login .fail').innerText();
  await page.fill('#link', link());
  await page.keyboard.press('Enter');
  await page.locator('tbody tr.on').waitFor();
  return seen;
}
