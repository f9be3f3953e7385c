// A test case as text: shown, copied, downloaded.

import { html } from './vendor.js';
import { CopyButton } from './copy_button.js';
import { downloadText } from './downloads.js';
import { plural } from './format.js';
import { Icon } from './icons.js';

/**
 * @param {{text: string, file: string, definition: string, leftOut: string[], problem: string | null, hidden?: boolean}} props
 *   `definition` is the file that it belongs beside.
 */
export function CaseText({ text, file, definition, leftOut, problem, hidden = false }) {
  return html`<div class="wb-case">
    ${problem ? html`<p class="banner fail" role="alert">The case does not pass: ${problem}. Change it before you use it.</p>`
      : html`<p class="banner ok"><span class="c-ok"><${Icon} name="check" /></span><span>The case passes against this definition.</span></p>`}
    ${hidden ? html`<p class="banner wait"><span>Values that the settings hide are •••; fill them in.</span></p>` : null}
    ${leftOut.length ? html`<p class="faint">Not expected, because ${leftOut.length === 1 ? 'it differs' : 'they differ'} from run to run: ${leftOut.join(', ')}.</p>` : null}
    <pre class="wb-casetext" tabindex="0" aria-label=${file}>${text.length > 60000 ? `${text.slice(0, 60000)}\n…` : text}</pre>
    <p class="wb-row2"><button class="action primary" onClick=${() => downloadText(text, file)}><${Icon} name="download" size=${13} />Download</button>
      <${CopyButton} text=${text} />
      <span class="faint">Put ${file} beside ${definition}, and run <code>statewright test</code>. ${plural(text.split('\n').length - 1, 'line')}</span></p>
  </div>`;
}
