// The banner of an execution whose tasks wait for an answer to their token.

import { html } from './vendor.js';
import { useDialog } from './dialogs.js';
import { duration, iso, plain } from './format.js';
import { Icon } from './icons.js';
import { useRead } from './reading.js';

const OFTEN_MS = 5_000;

/** The banner of an execution that waits, with a button for those who may answer. @param {{run: any, arn: string, server: any, reload: () => void}} props */
export function WaitingBanner({ run, arn, server, reload }) {
  const mayWait = run.head.status === 'RUNNING' && run.states.some((/** @type {any} */ state) => state.waits && !state.apart);
  const { found, problem, again } = useRead(mayWait ? 'run/waiting' : null, { arn }, { every: OFTEN_MS });
  const dialog = useDialog(() => import('./answer.js').then((one) => one.AnswerDialog));
  if (problem && mayWait && !found) return html`<div class="banner t-wait" role="status"><span>Whether tasks wait for an answer cannot be read: ${problem.message}</span></div>`;
  if (!found) return null;
  const [first] = found.tasks;
  const since = first ? sinceOf(run, first) : null;
  // A dialog that is open says itself that its task no longer waits.
  return html`${first ? html`<div class="banner t-wait"><${Icon} name="clock" /><span>${found.count === 1 ? html`<b><bdi>${first.state}</bdi></b> waits for ${asks(first)}` : html`<b>${found.count.toLocaleString('en-GB')} tasks</b> wait for an answer, the first in <b><bdi>${first.state}</bdi></b>`}${since === null ? '' : html` since <span title=${iso(since)}>${duration(Math.max(0, found.nowMs - since))}</span>`}.</span>
    ${server?.mayWrite ? html`<button class="action" disabled=${dialog.isBusy} onClick=${dialog.open}>Answer…</button>` : null}${dialog.problem ? html`<span class="fail" role="alert">${dialog.problem.message}</span>` : null}</div>` : null}
    ${dialog.Shown ? html`<${dialog.Shown} run=${run} arn=${arn} waiting=${found} onClose=${dialog.close} onDone=${() => {
      dialog.close();
      again();
      reload();
    }} />` : null}`;
}

/** @param {any} task */
function asks(task) {
  if (!task.isActivity) return 'an answer to its task token';
  return task.isStarted ? 'the worker that has its task' : `a worker of ${plain(task.resource)}`;
}

/** When a task began to wait, as far as the page has read. @param {any} run @param {any} task @returns {number | null} */
export function sinceOf(run, task) {
  const visit = run.byName.get(task.state)?.visits.find((/** @type {any} */ one) => one.begin === task.event);
  return visit ? run.head.startedMs + (visit.attempts.at(-1)?.beginMs ?? visit.beginMs) : null;
}
