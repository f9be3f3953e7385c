// What can be done with the execution that the page shows: a button each, beside its name.

import { html } from './vendor.js';
import { CostButton } from './cost_button.js';
import { ExportButton, ShareButton } from './export_button.js';
import { CompareButton, WhatIfButton } from './run_comparisons.js';

/**
 * @typedef {{run: import('./model.js').Run, arn: string, at: number, state: import('./model.js').State | undefined,
 *   visit: import('./model.js').Visit | null, server: any, reload: () => void}} ActionProps
 */

/** Components with ActionProps, in their order. @type {((props: ActionProps) => any)[]} */
const ACTIONS = [CompareButton, WhatIfButton, CostButton, ShareButton, ExportButton];

/** @param {ActionProps} props */
export function RunActions(props) {
  return html`<div class="actions">${ACTIONS.map((Action) => html`<${Action} ...${props} />`)}</div>`;
}
