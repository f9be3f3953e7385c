// Lists of services: a filter that the server applies, a table, and pages of it. What is shown stands in the address.

import { html, useEffect, useRef, useState } from './vendor.js';
import { useRead } from './reading.js';
import { go } from './navigation.js';
import { Problem } from './parts.js';
import { format } from './route.js';

/**
 * @typedef {{title: string, cell: (row: any) => any, look?: string}} Column
 */

/** A document that is read again and again; the last one stays while another page of the list is read. @param {string | null} name @param {import('./api.js').Query} query @param {number} every */
export function useLast(name, query, every) {
  const read = useRead(name, query, { every });
  const last = useRef(/** @type {any} */ (null));
  if (read.found) last.current = read.found;
  return { ...read, found: read.found ?? (read.problem ? null : last.current), isStale: !read.found };
}

/**
 * A list of the read `name`, whose document is `{rows, next}`. `extra` are members of the query besides filter and page.
 * @param {{route: import('./route.js').Route, name: string, columns: Column[], keyOf: (row: any) => string, label: string,
 *   empty: any, extra?: Record<string, string>, every?: number, filters?: any, noun?: string, chosen?: string}} props
 *   `chosen` is the member of the address that narrows the list, besides the filter
 */
export function List({ route, name, columns, keyOf, label, empty, extra = {}, every = 2000, filters = null, noun = 'name', chosen = '' }) {
  const { q = '', cursor = '' } = route.query;
  const { found, problem, again } = useLast(name, { ...extra, q, cursor }, every);
  const to = (/** @type {Record<string, string | null>} */ change, replace = false) => go(format(route.page, route.id, { ...route.query, ...change }), replace);
  const isFiltered = Boolean(q || cursor || route.query[chosen]);
  return html`<div class="cat-filters"><${Filter} value=${q} label=${`Filter by ${noun}`} onFilter=${(/** @type {string} */ text) => to({ q: text || null, cursor: null }, true)} />${filters}</div>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    ${!found ? (problem ? null : html`<p class="faint">Reading…</p>`) : !found.rows.length
      ? html`<div class="empty card">${isFiltered ? html`<p>Nothing here matches. <a href=${format(route.page, route.id, { ...route.query, q: null, cursor: null, [chosen || 'q']: null })}>Show all</a></p>` : empty}</div>`
      : html`<${Table} rows=${found.rows} columns=${columns} keyOf=${keyOf} label=${label} />`}
    ${found && (found.next || cursor) ? html`<div class="cat-pager">${cursor ? html`<button class="action" onClick=${() => to({ cursor: null })}>First page</button>` : null}
      ${found.next ? html`<button class="action" onClick=${() => to({ cursor: found.next })}>Next page</button>` : html`<span class="faint">The last page</span>`}</div>` : null}`;
}

/** A table of rows. @param {{rows: any[], columns: Column[], keyOf: (row: any, place: number) => any, label: string}} props */
export function Table({ rows, columns, keyOf, label }) {
  return html`<div class="card scroll cat-rows" role="region" aria-label=${label} tabindex="0"><table class="list"><thead><tr>${columns.map(({ title, look }) => html`<th class=${look === 'end' || look === 'tight' ? look : ''}>${title || html`<span class="unseen">Actions</span>`}</th>`)}</tr></thead>
    <tbody>${rows.map((row, place) => html`<tr key=${keyOf(row, place)}>${columns.map(({ cell, look }) => html`<td class=${look ?? ''}>${cell(row)}</td>`)}</tr>`)}</tbody></table></div>`;
}

const PAUSE_MS = 250;

/** A search field that reports its text once typing pauses. @param {{value: string, label: string, onFilter: (text: string) => void}} props */
export function Filter({ value, label, onFilter }) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  const sent = useRef(value);
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    setText(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (/** @type {any} */ event) => {
    const next = event.target.value;
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      sent.current = next;
      onFilter(next);
    }, PAUSE_MS);
  };
  return html`<input type="search" class="cat-filter" value=${text} placeholder=${label} aria-label=${label} onInput=${change} />`;
}

/** Facts of a page's head. @param {{facts: [string, any][]}} props */
export function Facts({ facts }) {
  return html`<dl class="factbar">${facts.filter(([, value]) => value !== null && value !== undefined && value !== '').map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** A part of a page under a heading. @param {{title: string, more?: any, children?: any}} props */
export function Part({ title, more = null, children }) {
  return html`<section class="cat-part"><header class="cat-parthead"><h2>${title}</h2>${more}</header>${children}</section>`;
}
