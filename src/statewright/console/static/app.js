// The page: which address shows which part, and the rail beside it.

import { effect, html, render, signal } from './vendor.js';
import { reachable, read } from './api.js';
import { Executions } from './executions.js';
import { Icon } from './icons.js';
import { Machines } from './machines.js';
import { route } from './navigation.js';
import { Problem } from './parts.js';
import { format } from './route.js';
import { RunPage } from './run.js';

/** @type {any} */
const server = signal(null);
/** @type {any} */
const trouble = signal(null);

async function look() {
  try {
    server.value = await read('me');
    trouble.value = null;
  } catch (problem) {
    trouble.value = problem;
  }
}

function Rail() {
  const { page } = route.value;
  const item = (/** @type {import('./route.js').Route['page']} */ to, /** @type {string} */ icon, /** @type {string} */ words) => html`<a class=${page === to || (to === 'executions' && page === 'execution') ? 'item on' : 'item'}
    href=${format(to)} title=${words} aria-current=${page === to ? 'page' : null}><${Icon} name=${icon} /><span>${words}</span></a>`;
  return html`<nav class="rail" aria-label="Pages">
    <a class="brand" href=${format('executions')}><img src="/console/static/mark.svg" alt="" width="22" height="22" />Statewright</a>
    ${item('executions', 'list', 'Executions')}
    ${item('machines', 'machine', 'State machines')}
    <div class="foot"><span class=${reachable.value ? 'dot ok' : 'dot fail'}></span>
      ${reachable.value ? 'connected' : 'not connected'} <code>${location.host}</code></div>
  </nav>`;
}

function Page() {
  const now = route.value;
  if (now.page === 'executions') return html`<${Executions} route=${now} />`;
  if (now.page === 'machines') return html`<${Machines} />`;
  if (now.page === 'execution') return html`<${RunPage} key=${now.arn} arn=${now.arn} query=${now.query} icons=${server.value?.icons} />`;
  return html`<div class="empty"><h1>There is no such page</h1><p>The address is not one of the console.
    <a href=${format('executions')}>Executions</a> are a good place to go on.</p></div>`;
}

function App() {
  return html`<${Rail} /><main class="main" id="main">
    ${trouble.value ? html`<${Problem} problem=${trouble.value} again=${look} />` : null}
    <${Page} /></main>`;
}

effect(() => {
  const now = route.value;
  const names = { execution: now.arn.split(':').pop(), machines: 'State machines', executions: 'Executions', unknown: 'Not found' };
  const name = names[now.page];
  document.title = `${name} · Statewright`;
});

look();
const root = /** @type {HTMLElement} */ (document.getElementById('app'));
root.textContent = '';
render(html`<${App} />`, root);
