// The page: which address shows which part, and the rail beside it.

import { effect, html, render, signal, useEffect, useState } from './vendor.js';
import { reachable, read, signedOut } from './api.js';
import { count } from './format.js';
import { Icon } from './icons.js';
import { overlay } from './keys.js';
import { Later } from './later.js';
import { enter, OUT } from './login.js';
import { route } from './navigation.js';
import { FIRST, PAGES } from './pages.js';
import { Problem } from './parts.js';
import { ThemeButton, ZoneButton } from './preferences.js';
import { useRead } from './reading.js';
import { format, here } from './route.js';
import { loadStyle } from './styles.js';

/** @type {any} */
const server = signal(null);
/** @type {any} */
const trouble = signal(null);
/** @type {string[]} */
let regions = [];

async function look() {
  try {
    const found = await read('me');
    here.home = found.region;
    regions = found.regions;
    // What the page has may be another user's.
    if (server.value && server.value.user !== found.user) location.reload();
    server.value = found;
    trouble.value = null;
  } catch (problem) {
    trouble.value = /** @type {any} */ (problem).status === 401 ? null : problem;
  }
}

/** @type {[import('./pages.js').PageEntry['group'], string][]} */
const GROUPS = [['main', ''], ['services', 'Services'], ['tools', 'Tools'], ['foot', '']];

const COUNTS_MS = 10_000;
const regionChooser = () => import('./regions.js').then((module) => module.RegionChooser);

function Rail() {
  const page = route.value.page || FIRST;
  const marked = PAGES[page]?.of ?? page;
  const { found } = useRead('counts', { region: here.region }, { every: COUNTS_MS });
  regions = found?.regions ?? regions;
  const items = (/** @type {string | undefined} */ group) => Object.entries(PAGES).filter(([, one]) => one.group === group)
    .map(([name, one]) => html`<a key=${name} class=${marked === name ? 'item on' : 'item'} href=${format(name)} title=${one.title}
      aria-current=${page === name ? 'page' : null}><${Icon} name=${one.icon} /><span>${one.title}</span>${found?.[name] === undefined ? null : html`<span class="count">${count(found[name])}</span>`}</a>`);
  return html`<nav class="rail" aria-label="Pages">
    <a class="brand" href=${format('')}><img src="/console/static/mark.svg" alt="" width="22" height="22" />Statewright</a>
    <button class="find" aria-keyshortcuts="/ Control+K" onClick=${() => (overlay.value = 'palette')}><${Icon} name="search" /><span>Search</span><kbd aria-hidden="true">/</kbd></button>
    ${regions.length > 1 ? html`<${Later} load=${regionChooser} quiet=${true} regions=${regions} />` : null}
    ${GROUPS.map(([group, words]) => html`${words && items(group).length ? html`<h2 class="group">${words}</h2>` : null}${group === 'foot' ? html`<div class="space"></div>` : null}${items(group)}`)}
    <div class="prefs"><${ThemeButton} /><${ZoneButton} /></div>
    <div class="foot"><span class=${reachable.value ? 'dot ok' : 'dot fail'}></span>
      ${reachable.value ? 'connected' : 'not connected'} <code>${location.host}</code>
      ${server.value && !server.value.mayWrite ? html`<span class="badge t-idle">read only</span>` : null}</div>
  </nav>`;
}

/** @type {Map<string, any>} */
const loaded = new Map();

/** Loads the module of a page, and its style sheet before it. @param {import('./pages.js').PageEntry} entry */
async function load({ load: module, style }) {
  if (style) await loadStyle(style);
  return module();
}

function Page() {
  const now = route.value;
  const name = now.page || FIRST;
  const entry = Object.hasOwn(PAGES, name) ? PAGES[name] : null;
  const [, setCount] = useState(0);
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const more = () => setCount((/** @type {number} */ count) => count + 1);
  const again = () => {
    if (!entry) return;
    if (loaded.has(name)) {
      // It may have come between the first drawing of this part and now, for one that is gone.
      more();
      return;
    }
    load(entry).then(({ Page: found }) => {
      loaded.set(name, found);
      setProblem(null);
    }, () => setProblem(new Error('A part of the page could not be loaded.'))).finally(more);
  };
  useEffect(again, [name]);
  if (!entry) {
    return html`<${NoPage} name=${name} />`;
  }
  const Found = loaded.get(name);
  if (!Found) return problem ? html`<${Problem} problem=${problem} again=${again} />` : html`<p class="faint pad">Reading…</p>`;
  return html`<${Found} key=${`${name} ${now.id} ${here.region}`} route=${now} server=${server.value} />`;
}

/** @param {{name: string}} props */
function NoPage({ name }) {
  const near = Object.entries(PAGES).find(([other, page]) => page.group && name && (other.startsWith(name.slice(0, 4)) || name.startsWith(other.slice(0, 4))));
  return html`<div class="empty"><h1>There is no such page</h1><p>The console has no page <code><bdi>${name.slice(0, 100)}</bdi></code>.${' '}
      ${near ? html`Did you mean <a href=${format(near[0])}>${near[1].title}</a>?` : null}</p>
    <p>Its pages: ${Object.entries(PAGES).filter(([, page]) => page.group).map(([other, page], place) => html`${place ? ', ' : ''}<a href=${format(other)}>${page.title}</a>`)}.${' '}
      <button class="link" onClick=${() => (overlay.value = 'palette')}>Search</button> finds executions by name or ARN.</p></div>`;
}

const signIn = () => load({ title: '', style: 'forms.css', load: () => import('./sign_in.js') }).then(({ Page: found }) => found);
const projectBanner = () => import('./project.js').then((module) => module.ProjectBanner);
/** @type {Record<string, () => Promise<any>>} */
const OVERLAYS = {
  palette: () => import('./palette.js').then((module) => module.Palette),
  help: () => import('./help.js').then((module) => module.Help),
};

function App() {
  const isOut = signedOut.value !== null;
  // What the user was typing when the session ended is there after the next sign-in.
  const isKept = server.value && signedOut.value !== OUT;
  return html`<${Rail} />${isOut ? html`<${Later} load=${signIn} over=${isKept} quiet=${true} />` : overlay.value ? html`<${Later} key=${overlay.value} load=${OVERLAYS[overlay.value]} quiet=${true} />` : null}${isOut && !isKept ? null : html`<main class=${isOut ? 'main away' : 'main'} id="main"><${Later} load=${projectBanner} quiet=${true} />
    ${trouble.value ? html`<${Problem} problem=${trouble.value} again=${look} />` : null}
    <${Page} /></main>`}`;
}

effect(() => {
  const { page, id } = route.value;
  const title = Object.hasOwn(PAGES, page || FIRST) ? PAGES[page || FIRST].title : 'Not found';
  document.title = `${id ? id.split(':').pop() : title} · Statewright`;
});

await enter();
effect(() => {
  if (signedOut.value === null) look();
});
const root = /** @type {HTMLElement} */ (document.getElementById('app'));
root.textContent = '';
render(html`<${App} />`, root);
