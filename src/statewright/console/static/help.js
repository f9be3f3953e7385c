// The keys of all pages, in a dialog.

import { html } from './vendor.js';
import { Dialog } from './dialogs.js';
import { GOES, overlay } from './keys.js';
import { PAGES } from './pages.js';

/** @type {[string, [string, string][]][]} */
const HELP = [
  ['Everywhere', [['/', 'search, and go anywhere'], ['Ctrl K', 'the same'], ['?', 'these keys'], ['.', 'actions, where a page has a menu of them'], ['l', 'live or paused']]],
  ['Lists', [['j', 'next row'], ['k', 'row before'], ['Enter', 'open it'], ['x', 'choose it, when rows are chosen'], ['y', 'copy its ARN']]],
  ['An execution', [['[', 'event before'], [']', 'next event'], ['{', 'visit of this state before'], ['}', 'next visit of this state'], ['Space', 'play, pause']]],
];

export function Help() {
  const goes = Object.entries(GOES).filter(([, page]) => Object.hasOwn(PAGES, page)).map(([key, page]) => /** @type {[string, string]} */ ([`g ${key}`, PAGES[page].title]));
  const groups = [HELP[0], /** @type {[string, [string, string][]]} */ (['Go to', goes]), ...HELP.slice(1)];
  return html`<${Dialog} title="Keys" wide=${true} onClose=${() => (overlay.value = '')}><div class="keys">${groups.map(([title, keys]) => html`<section key=${title}><h3>${title}</h3>
    <dl>${keys.map(([key, words]) => html`<dt>${key.split(' ').map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${words}</dd>`)}</dl></section>`)}</div><//>`;
}
