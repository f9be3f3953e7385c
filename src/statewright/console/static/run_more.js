// The actions of an execution behind the button More.

import { html } from './vendor.js';
import { CostButton } from './cost_button.js';
import { ExportButton, ShareButton } from './export_button.js';
import { PinAction } from './pin.js';

/** @param {import('./run_actions.js').ActionProps} props */
export function More(props) {
  return html`<${CostButton} ...${props} /><${ShareButton} ...${props} /><${ExportButton} ...${props} /><${PinAction} ...${props} />`;
}
