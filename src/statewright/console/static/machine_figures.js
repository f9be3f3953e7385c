// The tabs of a state machine with figures of its executions; each brings its style sheet.

import { html } from './vendor.js';
import { Costs } from './costs.js';
import { Heat, Occupancy } from './heat.js';
import { format } from './route.js';
import { loadStyle } from './styles.js';

await loadStyle('heat.css');

/** @param {any} props */
export function HeatTab({ machine, server }) {
  return html`<div class="insight"><${Heat} machine=${machine} server=${server} />
    <p class="pad"><a href=${format('simulations', '', { from: machine })}>Simulate a load on this state machine</a></p></div>`;
}

/** @param {any} props */
export function OccupancyTab({ machine, server }) {
  return html`<div class="insight"><${Occupancy} machine=${machine} server=${server} /></div>`;
}

/** @param {any} props */
export function CostTab({ machine }) {
  return html`<div class="insight"><${Costs} machine=${machine} /></div>`;
}

/** @param {any} props */
export function ExpressTab({ machine }) {
  return html`<p class="pad">Express executions keep no history. <a href=${format('express', machine)}>Record them while a page is open</a></p>`;
}
