// The action "Pin as test" of an execution: its history as a case of `statewright test`.

import { html, useEffect, useState } from './vendor.js';
import { read } from './api.js';
import { CaseText } from './case_text.js';
import { Dialog } from './dialogs.js';
import { Icon } from './icons.js';
import { Problem } from './parts.js';

/** @param {import('./run_actions.js').ActionProps} props */
export function PinAction({ run, arn }) {
  const [isOpen, setOpen] = useState(false);
  const isOver = run.head.endedMs !== null;
  return html`<button class="action" disabled=${!isOver} title=${isOver ? 'A test case from this execution' : 'When the execution has ended'} onClick=${() => setOpen(true)}><${Icon} name="pin" size=${13} />Pin as test</button>
    ${isOpen ? html`<${Pinned} arn=${arn} onClose=${() => setOpen(false)} />` : null}`;
}

/** @param {{arn: string, onClose: () => void}} props */
function Pinned({ arn, onClose }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    read('run/case', { arn }, stop.signal).then(setFound, (failure) => (stop.signal.aborted ? null : setProblem(failure)));
    return () => stop.abort();
  }, [arn, turn]);
  const again = () => {
    setProblem(null);
    setTurn(turn + 1);
  };
  return html`<${Dialog} title="Pin as test" wide=${true} onClose=${onClose}><div class="form">
    ${problem ? (problem.status === 0 || problem.status >= 429 ? html`<${Problem} problem=${problem} again=${again} />` : html`<p class="banner fail" role="alert">${problem.message}</p>`)
      : !found ? html`<p class="faint" role="status">Writing the case, and running it once…</p>`
        : found.text === null ? html`<p class="banner fail" role="alert">${found.problem}</p>`
          : html`<p>The case has this execution's input and the answers of its tasks, and expects the same end.</p>
            <${CaseText} text=${found.text} file=${found.file} definition=${found.definitionFile} leftOut=${found.leftOut} problem=${found.problem} hidden=${found.hidden} />`}
  </div><//>`;
}
