// A failed run is asked what if, with other Retry and Catch: the ways part, a mock is given, the end is shown; the last
// executions are checked; two runs are compared; a state is explained, and a value followed back. The ARNs of the runs are the arguments.

import { address, drive, given } from './drive.js';

const [busy, fine] = given;
await drive(walk);

function promised() {
  let resolve;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** A value of a state's input is clicked and followed back; then one by the keyboard alone; then a link of its way. */
async function followed(page) {
  await page.goto(`${address}/console/execution/${fine}?state=Ship&tab=input`);
  const button = page.getByRole('button', { name: 'Why', exact: true });
  await button.waitFor();
  await page.locator('.tabbody .line', { hasText: '"cents"' }).click();
  const asked = await page.locator('.why .asked code').innerText();
  await button.click();
  await page.locator('.chain li').first().waitFor();
  const places = await page.locator('.chain li a').allInnerTexts();
  const end = await page.locator('.why .end').innerText();
  await page.checkAccess();
  await button.click();
  await page.locator('.chain').waitFor({ state: 'detached' });
  await page.locator('.tabbody .json').focus();
  const lines = await page.locator('.tabbody .line').allInnerTexts();
  const steps = lines.findIndex((text) => text.includes('"c-1"')) - lines.findIndex((text) => text.includes('"cents"'));
  for (let step = 0; step < steps; step += 1) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('.why .end')?.textContent?.includes('answered'));
  const answered = await page.locator('.why .end').innerText();
  const shown = await page.locator('.why .asked code').innerText();
  await page.getByRole('button', { name: 'All around it' }).click();
  await page.getByRole('group', { name: 'Members' }).getByRole('button', { name: 'id' }).waitFor();
  await page.locator('.chain li a', { hasText: 'Charge card' }).first().click();
  await page.locator('.what h2', { hasText: 'Charge card' }).waitFor();
  const tab = await page.locator('[role="tab"][aria-selected="true"]', { hasText: 'Output' }).count();
  return { asked, places, end, answered, shown, tab };
}

async function walk(page) {
  await page.goto(`${address}/console/execution/${busy}?state=Charge card&tab=evaluated`);
  await page.locator('.evaluated .step').first().waitFor();
  const steps = await page.locator('.step summary b').allInnerTexts();
  const tries = await page.locator('.tries li').allInnerTexts();
  await page.checkAccess();
  const why = await followed(page);
  await page.goto(`${address}/console/execution/${busy}`);
  await page.getByRole('link', { name: 'What if' }).click();
  const text = page.locator('#definition');
  await text.waitFor();
  // While the text of a version is read no other is chosen: what is replayed is what stands there.
  const answer = promised();
  await page.route(/\/console\/api\/call(\?|$)/, async (route) => {
    // The list of versions may still be on its way.
    if (route.request().postDataJSON().operation.startsWith('Describe')) await answer.promise;
    await route.continue();
  });
  const versions = page.locator('.other select');
  await versions.selectOption({ label: 'the present one' });
  await page.waitForFunction(() => document.querySelector('.other select')?.disabled === true);
  answer.resolve();
  await page.waitForFunction(() => document.querySelector('.other select')?.disabled === false);
  await versions.selectOption({ label: 'what it ran on' });
  const definition = JSON.parse(await text.inputValue());
  definition.States['Charge card'].Retry[0].MaxAttempts = 0;
  definition.States['Charge card'].Catch[0].ErrorEquals = ['GatewayBusy'];
  await text.fill('{');
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  const refused = await page.locator('.other [role="alert"]').innerText();
  await text.fill(JSON.stringify(definition));
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.locator('.mock').waitFor();
  await page.checkAccess();
  const verdict = await page.locator('.verdict').innerText();
  const parting = await page.locator('.ways tbody tr').allInnerTexts();
  await page.locator('.mock textarea').fill('no JSON');
  await page.getByRole('button', { name: 'Answer and replay' }).press('Enter');
  const wrong = await page.locator('.mock [role="alert"]').innerText();
  await page.locator('.mock textarea').fill('{"<b>released</b>": true}');
  await page.getByRole('button', { name: 'Answer and replay' }).press('Enter');
  await page.locator('.mocks li').waitFor();
  const ends = await page.locator('.ends dd').allInnerTexts();
  const mocks = await page.locator('.mocks li').innerText();
  const lanes = await page.locator('.lane .row').count();
  const markup = await page.locator('main b b').count();
  await page.locator('.batch form .action').first().click();
  await page.locator('.batch tbody tr').first().waitFor();
  // While it counts it says of how many.
  await page.waitForFunction(() => /^\d+ executions? change/.test(document.querySelector('.batch [role="status"]')?.textContent ?? ''));
  const checked = await page.locator('.batch [role="status"]').innerText();
  await page.checkAccess();
  await page.goto(`${address}/console/execution/${busy}`);
  await page.locator('.node.selected').waitFor();
  await page.keyboard.press('c');
  await page.locator('.choices li').first().waitFor();
  await page.checkAccess();
  await page.locator('.choices button').first().click();
  await page.locator('.pairs tbody tr').first().waitFor();
  const first = await page.locator('.first dd .link').allInnerTexts();
  const graph = await page.locator('.tinted .node').evaluateAll((nodes) => nodes.map((node) => node.getAttribute('aria-label')));
  const scrolled = () => page.evaluate(() => document.querySelector('.tinted .canvas').scrollTop);
  // The keyboard's focus scrolls to the last state; the first one is chosen by its row.
  await page.locator('.tinted [data-state="Refuse"]').focus();
  const below = await scrolled();
  await page.locator('.pairs tbody button', { hasText: 'Check' }).first().click();
  await page.locator('.tinted .selected[data-state="Check"]').waitFor();
  await page.waitForFunction(() => document.querySelector('.tinted .canvas').scrollTop === 0);
  const top = { below: below > 0, marks: await page.locator('.tinted circle.start').count() };
  await page.locator('#pair .line').first().waitFor();
  const payload = await page.locator('#pair').innerText();
  await page.checkAccess();
  const sides = await page.locator('.side a').allInnerTexts();
  await page.goto(`${address}/console/compare?a=${fine}&b=${fine}`);
  const same = await page.locator('.empty').innerText();
  return { steps, tries, why, refused, verdict, parting, wrong, ends, mocks, lanes, markup, checked, first, graph, top, payload, sides, same };
}
