// Parts that several pages have: tabs, and the banner of a read that failed.

import { html } from './vendor.js';

/**
 * Tabs of a panel, whose id is `panel`; arrow keys go from one to the next.
 * @param {{items: [string, string, unknown?][], chosen: string, label: string, panel: string, look?: string, onChoose: (key: string) => void}} props
 */
export function Tabs({ items, chosen, label, panel, look = '', onChoose }) {
  const press = (/** @type {KeyboardEvent} */ event) => {
    const place = items.findIndex(([key]) => key === chosen);
    const steps = /** @type {Record<string, number>} */ ({ ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: items.length - 1 });
    if (!(event.key in steps)) return;
    event.preventDefault();
    const [key] = items[(steps[event.key] + items.length) % items.length];
    onChoose(key);
    document.getElementById(`${panel}-${key}`)?.focus();
  };
  return html`<div class=${`tabs ${look}`} role="tablist" aria-label=${label} onKeyDown=${press}>${items.map(([key, words, more]) => html`<button key=${key} id=${`${panel}-${key}`}
    role="tab" aria-selected=${key === chosen} aria-controls=${panel} tabindex=${key === chosen ? 0 : -1} onClick=${() => onChoose(key)}>${words} ${more}</button>`)}</div>`;
}

/** @param {{problem: Error, again: () => void}} props */
export function Problem({ problem, again }) {
  return html`<div class="banner fail" role="alert"><span>${problem.message}</span><button class="action" onClick=${again}>Try again</button></div>`;
}
