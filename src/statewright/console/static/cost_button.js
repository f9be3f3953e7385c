// A button that shows the costs of the execution on the page; what it shows is loaded with the first click.

import { html, useState } from './vendor.js';
import { Dialog, useAction } from './dialogs.js';

/** @param {import('./run_actions.js').ActionProps} props */
export function CostButton({ arn }) {
  const [Found, setFound] = useState(/** @type {any} */ (null));
  const { isBusy, problem, run } = useAction();
  const open = () => run(async () => {
    const { RunCosts } = await import('./costs.js');
    setFound(() => RunCosts);
  });
  return html`<button class="action" disabled=${isBusy} onClick=${open}>Cost</button>
    ${problem ? html`<span class="fail" role="alert">${problem.message}</span>` : null}
    ${Found ? html`<${Dialog} title="Cost in the cloud" wide=${true} onClose=${() => setFound(null)}><${Found} arn=${arn} /><//>` : null}`;
}
