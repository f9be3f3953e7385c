// The region whose resources the pages show, of those that the server has.

import { html } from './vendor.js';
import { go, route } from './navigation.js';
import { FIRST, PAGES } from './pages.js';
import { format, here } from './route.js';
import { loadStyle } from './styles.js';

await loadStyle('regions.css');

/** @param {{regions: string[]}} props  the server's own first */
export function RegionChooser({ regions }) {
  const page = route.value.page || FIRST;
  const chosen = here.region || here.home || regions[0];
  // What is open is of one region, so that another one begins with the list that it is in.
  const choose = (/** @type {any} */ event) => go(format(PAGES[page]?.of ?? page, '', { region: event.target.value }));
  return html`<label class="region"><span>Region</span><select value=${chosen} onChange=${choose}>${[...new Set([...regions, chosen])].map((name) => html`<option key=${name} value=${name} selected=${name === chosen}>${name}</option>`)}</select></label>`;
}
