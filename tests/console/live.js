// Follows an execution as it runs: a task waits for its token, which this program answers. The argument is its machine,
// and the queue that gets the token.

import { address, drive, given } from './drive.js';

const [machine, queue] = given;
await drive(walk);

/** An operation of a service, as an SDK calls it without credentials. */
async function aws(target, request) {
  const headers = { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': target };
  const answer = await fetch(address, { method: 'POST', headers, body: JSON.stringify(request) });
  return answer.json();
}

async function answerTask() {
  for (;;) {
    const { Messages: messages = [] } = await aws('AmazonSQS.ReceiveMessage', { QueueUrl: queue, WaitTimeSeconds: 20 });
    for (const message of messages) {
      await aws('AmazonSQS.DeleteMessage', { QueueUrl: queue, ReceiptHandle: message.ReceiptHandle });
      await aws('AWSStepFunctions.SendTaskSuccess', { taskToken: message.Body, output: '{"items": [1, 2, 3]}' });
      return;
    }
  }
}

async function walk(page, look) {
  const name = `live-${look.name.replace(' ', '-')}`;
  await page.goto(`${address}/console/machines`);
  // A letter without a g before it leads nowhere, also when the page has just been loaded.
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.keyboard.press('l');
  const stayed = new URL(page.url()).pathname;
  await page.goto(`${address}/console/executions`);
  await page.locator('tbody tr, .empty').first().waitFor();
  const { executionArn: arn } = await aws('AWSStepFunctions.StartExecution', { stateMachineArn: machine, name, input: '{}' });
  // The list shows it without being asked.
  await page.getByRole('link', { name, exact: true }).click();

  const live = page.locator('.deck .toend');
  await page.waitForFunction(() => document.querySelector('.deck .toend')?.getAttribute('aria-pressed') === 'true');
  // From here on the page is never without what it has shown.
  await page.evaluate(() => {
    window.vanished = 0;
    new MutationObserver(() => {
      if (!document.querySelector('[role="slider"]')) window.vanished += 1;
    }).observe(document.body, { childList: true, subtree: true });
  });
  await page.checkAccess();
  const before = await page.locator('.factbar dd').nth(1).textContent();
  await page.waitForFunction((old) => ![old, undefined].includes(document.querySelectorAll('.factbar dd')[1]?.textContent), before);
  const waits = await page.locator('.inspector .said').innerText();

  // It stays where the user is, and counts what is new.
  const slider = page.getByRole('slider');
  await slider.focus();
  await slider.press('Home');
  const known = Number(await slider.getAttribute('aria-valuemax'));
  await answerTask();
  await page.waitForFunction(() => document.querySelector('.title .badge')?.textContent === 'Succeeded');
  // It is said when it has been drawn.
  await page.locator('.title [role="status"]', { hasText: 'Succeeded' }).waitFor({ state: 'attached' });
  const inspected = {
    button: await live.innerText(), known, most: Number(await slider.getAttribute('aria-valuemax')), at: await slider.getAttribute('aria-valuenow'),
    spoken: await page.locator('.title [role="status"]').innerText(), reached: await page.locator('.node:not(.unreached)').count(),
  };
  await page.checkAccess();
  await page.keyboard.press('l');
  await page.waitForFunction((old) => Number(document.querySelector('[role="slider"]')?.getAttribute('aria-valuenow')) > old, known);
  const followed = { at: Number(await slider.getAttribute('aria-valuenow')), buttons: await live.count(), reached: await page.locator('.node:not(.unreached)').count() };

  // A hidden page closes its stream, and opens it again.
  const closed = page.waitForEvent('requestfailed', (request) => request.url().includes('/console/api/live'));
  await hide(page, true);
  await closed;
  const opened = page.waitForEvent('response', (answer) => answer.url().includes('/console/api/live'));
  await hide(page, false);
  await opened;
  const { events } = await aws('AWSStepFunctions.GetExecutionHistory', { executionArn: arn, maxResults: 1000 });

  // A server that has other data asks the page to read the run again, and refuses the read.
  const lines = [{ hello: { server: 'another', nowMs: Date.now() } }, { subject: `run:${arn}`, reset: true }];
  await page.route('**/console/api/live?*', (route) => route.fulfill({ contentType: 'application/x-ndjson', body: `${lines.map((line) => JSON.stringify(line)).join('\n')}\n` }), { times: 1 });
  await page.route('**/console/api/run?*', (route) => route.fulfill({ status: 404, json: { error: 'ExecutionDoesNotExist', message: 'There is none.' } }));
  await hide(page, true);
  await hide(page, false);
  await page.locator('.banner.fail, .empty').waitFor();
  const refused = { words: await page.locator('.banner.fail').innerText(), at: await slider.getAttribute('aria-valuenow') };
  await page.unroute('**/console/api/run?*');
  await hide(page, true);
  await hide(page, false);
  await page.locator('.banner.fail').waitFor({ state: 'detached' });
  const vanished = await page.evaluate(() => window.vanished);

  // Keys that lead to another page are not keys of this one, too.
  await page.keyboard.press('g');
  await page.keyboard.press('l');
  await page.getByRole('heading', { name: 'Limits' }).waitFor();
  return { stayed, waits, inspected, followed, refused, vanished, events: events.length };
}

function hide(page, hidden) {
  return page.evaluate((now) => {
    Object.defineProperty(document, 'hidden', { value: now, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
}
