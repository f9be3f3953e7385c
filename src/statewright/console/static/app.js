// The page: which address shows which part, and the rail beside it.

import { effect, html, render, signal, useEffect, useState } from './vendor.js';
import { reachable, read } from './api.js';
import { Icon } from './icons.js';
import { ProjectBanner } from './project.js';
import { route } from './navigation.js';
import { FIRST, PAGES } from './pages.js';
import { Problem } from './parts.js';
import { format } from './route.js';

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

/** @type {[import('./pages.js').PageEntry['group'], string][]} */
const GROUPS = [['main', ''], ['services', 'Services'], ['tools', 'Tools'], ['foot', '']];

function Rail() {
  const page = route.value.page || FIRST;
  const marked = PAGES[page]?.of ?? page;
  const items = (/** @type {string | undefined} */ group) => Object.entries(PAGES).filter(([, one]) => one.group === group)
    .map(([name, one]) => html`<a key=${name} class=${marked === name ? 'item on' : 'item'} href=${format(name)} title=${one.title}
      aria-current=${page === name ? 'page' : null}><${Icon} name=${one.icon} /><span>${one.title}</span></a>`);
  return html`<nav class="rail" aria-label="Pages">
    <a class="brand" href=${format('')}><img src="/console/static/mark.svg" alt="" width="22" height="22" />Statewright</a>
    ${GROUPS.map(([group, words]) => html`${words && items(group).length ? html`<h2 class="group">${words}</h2>` : null}${group === 'foot' ? html`<div class="space"></div>` : null}${items(group)}`)}
    <div class="foot"><span class=${reachable.value ? 'dot ok' : 'dot fail'}></span>
      ${reachable.value ? 'connected' : 'not connected'} <code>${location.host}</code></div>
  </nav>`;
}

/** @type {Map<string, any>} */
const loaded = new Map();

/** Loads the module of a page, and its style sheet before it. @param {import('./pages.js').PageEntry} entry */
async function load({ load: module, style }) {
  const address = `/console/static/${style}`;
  if (style && !document.querySelector(`link[href="${address}"]`)) {
    const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: address });
    await new Promise((done, failed) => {
      Object.assign(link, { onload: done, onerror: failed });
      document.head.append(link);
    });
  }
  return module();
}

function Page() {
  const now = route.value;
  const name = now.page || FIRST;
  const entry = Object.hasOwn(PAGES, name) ? PAGES[name] : null;
  const [, setCount] = useState(0);
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const again = () => {
    if (!entry || loaded.has(name)) return;
    load(entry).then(({ Page: found }) => {
      loaded.set(name, found);
      setProblem(null);
    }, () => setProblem(new Error('A part of the page could not be loaded.'))).finally(() => setCount((/** @type {number} */ count) => count + 1));
  };
  useEffect(again, [name]);
  if (!entry) {
    return html`<div class="empty"><h1>There is no such page</h1><p>The address is not one of the console.
      <a href=${format('executions')}>Executions</a> are a good place to go on.</p></div>`;
  }
  const Found = loaded.get(name);
  if (!Found) return problem ? html`<${Problem} problem=${problem} again=${again} />` : html`<p class="faint pad">Reading…</p>`;
  return html`<${Found} key=${`${name} ${now.id}`} route=${now} server=${server.value} />`;
}

function App() {
  return html`<${Rail} /><main class="main" id="main"><${ProjectBanner} />
    ${trouble.value ? html`<${Problem} problem=${trouble.value} again=${look} />` : null}
    <${Page} /></main>`;
}

effect(() => {
  const { page, id } = route.value;
  const title = Object.hasOwn(PAGES, page || FIRST) ? PAGES[page || FIRST].title : 'Not found';
  document.title = `${id ? id.split(':').pop() : title} · Statewright`;
});

look();
const root = /** @type {HTMLElement} */ (document.getElementById('app'));
root.textContent = '';
render(html`<${App} />`, root);
