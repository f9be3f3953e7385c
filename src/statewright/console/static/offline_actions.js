// In a file that holds a run, what run_actions.js is elsewhere: what needs no server.

import { html } from './vendor.js';
import { CostButton } from './cost_button.js';

/** @param {any} props */
export function RunActions(props) {
  return html`<div class="actions"><${CostButton} ...${props} /></div>`;
}
