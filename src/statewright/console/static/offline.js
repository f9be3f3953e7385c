// The page of a file that holds one run.

import { html, render } from './vendor.js';
import { inside } from './offline_api.js';
import { route } from './offline_navigation.js';
import { Page } from './run.js';

const arn = inside.run.head.arn;
const server = { version: inside.version, icons: inside.icons, mayWrite: false, nowMs: inside.run.nowMs };

function App() {
  const { query } = route.value;
  return html`<main class="main offline" id="main"><p class="note"><b>A copy of one run</b>, read only, made by Statewright ${inside.version} on ${new Date(inside.run.nowMs).toISOString().slice(0, 16).replace('T', ' ')} UTC.${inside.leftOut ? ` ${inside.leftOut.toLocaleString('en-GB')} payloads were too long for this file.` : ''}</p>
    <${Page} route=${{ page: 'execution', id: arn, query }} server=${server} /></main>`;
}

const root = /** @type {HTMLElement} */ (document.getElementById('app'));
root.textContent = '';
render(html`<${App} />`, root);
