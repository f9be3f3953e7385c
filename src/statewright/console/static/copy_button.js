// A button that copies a text, and says if the browser refuses.

import { html, useState } from './vendor.js';
import { copyText } from './copying.js';
import { useAction } from './dialogs.js';
import { Icon } from './icons.js';

/** None without a clipboard, as on a page that came by plain HTTP from another machine. @param {{text: string}} props */
export function CopyButton({ text }) {
  const [isCopied, setCopied] = useState(false);
  const { problem, run } = useAction();
  if (!navigator.clipboard) return null;
  const copy = () => run(() => copyText(text).then(() => setCopied(true)));
  return html`<button class="action" onClick=${copy}><${Icon} name="copy" size=${13} />${isCopied ? 'Copied' : 'Copy'}</button>${problem ? html`<span class="fail" role="alert">${problem.message}</span>` : null}`;
}
