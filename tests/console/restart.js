// Kills the server while a run is watched, and starts it again: the page goes on by itself. The arguments are the Python
// program, the data folder and the port.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { address, drive, given, LOOKS } from './drive.js';

const [python, data, port] = given;
const ROUNDS = 6;
const DEFINITION = {
  StartAt: 'Begin', QueryLanguage: 'JSONata',
  States: {
    Begin: { Type: 'Pass', Assign: { left: ROUNDS }, Next: 'Pause' },
    Pause: { Type: 'Wait', Seconds: 1, Next: 'Count' },
    Count: { Type: 'Pass', Assign: { left: '{% $left - 1 %}' }, Next: 'Again?' },
    'Again?': { Type: 'Choice', Choices: [{ Condition: '{% $left > 0 %}', Next: 'Pause' }], Default: 'Done' },
    Done: { Type: 'Succeed' },
  },
};

let server = await begin();
await drive(walk, LOOKS.slice(0, 1));
server.kill('SIGKILL');

async function begin() {
  const process = spawn(python, ['-m', 'statewright.cli.main', 'serve', '--port', port, '--data', data], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: process.stdout })) if (line.startsWith('Statewright is ready')) break;
  return process;
}

async function aws(operation, request) {
  const headers = { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `AWSStepFunctions.${operation}` };
  return (await fetch(address, { method: 'POST', headers, body: JSON.stringify(request) })).json();
}

async function walk(page) {
  const { stateMachineArn } = await aws('CreateStateMachine', { name: 'restart', definition: JSON.stringify(DEFINITION), roleArn: 'arn:aws:iam::000000000000:role/r' });
  const { executionArn: arn } = await aws('StartExecution', { stateMachineArn, input: '{}' });
  await page.goto(`${address}/console/execution/${arn}`);
  const slider = page.getByRole('slider');
  const most = () => slider.getAttribute('aria-valuemax').then(Number);
  await page.waitForFunction(() => Number(document.querySelector('[role="slider"]')?.getAttribute('aria-valuemax')) > 8);
  const before = await most();
  await page.evaluate(() => {
    window.kept = true;
  });
  const ended = new Promise((done) => server.on('exit', done));
  server.kill('SIGKILL');
  await ended;
  await page.locator('.rail .dot.fail').waitFor();
  server = await begin();
  await page.locator('.banner.quiet').waitFor();
  const banner = await page.locator('.banner.quiet').innerText();
  await page.waitForFunction(() => document.querySelector('.title .badge')?.textContent === 'Succeeded');
  const after = await most();
  const mark = await page.locator('.timeline .away').getAttribute('title');
  await page.getByRole('tab', { name: 'Events' }).click();
  await page.locator('.events tbody tr').nth(after - 1).waitFor();
  const ids = await page.locator('.events tbody tr button').allInnerTexts();
  await page.checkAccess();
  const { events } = await aws('GetExecutionHistory', { executionArn: arn, maxResults: 1000 });
  return { before, after, banner, mark, ids: ids.map(Number), events: events.length, kept: await page.evaluate(() => window.kept === true) };
}
