// Parts that the pages of services share: a search over a list, pages of a list, times.

import { html, useEffect, useRef, useState } from './vendor.js';
import { ago, duration, instant, iso } from './format.js';
import { go } from './navigation.js';
import { Problem } from './parts.js';
import { format } from './route.js';

const REST_MS = 250;

/** The address of a route with some members of its query changed; a change of the filter begins the list anew. @param {import('./route.js').Route} route @param {Record<string, string | number | null | undefined>} change */
export function changed(route, change) {
  return format(route.page, route.id, { ...route.query, cursor: null, ...change });
}

/** A search over a list, by a part of a name; it stands in the address. @param {{route: import('./route.js').Route, label: string}} props */
export function SearchBox({ route, label }) {
  const [text, setText] = useState(route.query.q ?? '');
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (/** @type {any} */ event) => {
    const value = event.target.value;
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => go(changed(route, { q: value.trim() }), true), REST_MS);
  };
  return html`<input type="search" value=${text} placeholder=${label} aria-label=${label} maxlength="200" onInput=${type} />`;
}

/** Links to the first and the next page of a list. @param {{route: import('./route.js').Route, next: string | null, words?: string}} props */
export function Pages({ route, next, words = 'Next page' }) {
  if (!next && !route.query.cursor) return null;
  return html`<p class="filters">${route.query.cursor ? html`<a class="action" href=${changed(route, {})}>First page</a>` : null}
    ${next ? html`<a class="action" href=${changed(route, { cursor: next })}>${words}</a>` : null}</p>`;
}

/** What a page says instead of a resource that could not be read: that there is none, or what went wrong. @param {{problem: any, again: () => void, what: string, children?: any}} props */
export function Missing({ problem, again, what, children }) {
  const isAnswer = problem.status >= 400 && problem.status < 500;
  return isAnswer ? html`<div class="empty"><h1>There is no such ${what}</h1><p class="fail">${problem.message}</p><p>${children}</p></div>` : html`<${Problem} problem=${problem} again=${again} />`;
}

/** How long ago, with the instant. @param {{ms: number | null | undefined, now: number}} props */
export function Ago({ ms, now }) {
  return ms ? html`<span title=${iso(ms)}>${ago(ms, now)}</span>` : html`<span class="faint">–</span>`;
}

/** An instant, with how long ago that is. @param {{ms: number | null | undefined, now: number}} props */
export function At({ ms, now }) {
  return ms ? html`<span title=${iso(ms)}>${instant(ms)} <span class="faint">${ago(ms, now)}</span></span>` : html`<span class="faint">–</span>`;
}

/** A length of time since an instant. @param {{ms: number, now: number}} props */
export function Since({ ms, now }) {
  return html`<span title=${`since ${iso(ms)}`}>${duration(Math.max(0, now - ms))}</span>`;
}

/** Names that stand in a text of the other direction stay apart. @param {{children?: any}} props */
export function Name({ children }) {
  return html`<bdi>${children}</bdi>`;
}

/** The names of an ARN's parts. @param {string} arn */
export function lastOf(arn) {
  return arn.split(':').pop() ?? arn;
}
