// What can be done with the execution that the page shows: a button each, beside its name.

import { html } from './vendor.js';
import { useDialog } from './dialogs.js';
import { forkPoint } from './fork_point.js';
import { plain } from './format.js';
import { Icon } from './icons.js';
import { Menu } from './menu.js';
import { format } from './route.js';
import { CompareButton, isStored, WhatIfButton } from './run_comparisons.js';

/**
 * @typedef {{run: import('./model.js').Run, arn: string, at: number, state: import('./model.js').State | undefined,
 *   visit: import('./model.js').Visit | null, server: any, reload: () => void}} ActionProps
 */

/** Components with ActionProps, in their order. @type {((props: ActionProps) => any)[]} */
const ACTIONS = [CompareButton, WhatIfButton, More, Stop, Redrive, Again, Fork];

/** @param {ActionProps} props */
export function RunActions(props) {
  return html`<div class="actions">${ACTIONS.map((Action) => html`<${Action} ...${props} />`)}</div>`;
}

/** A button with a dialog behind it. @param {any} props */
function Behind({ load, icon, look = '', title, isOff = false, words, ...given }) {
  const { Shown, isBusy, problem, open, close } = useDialog(load);
  return html`<button class=${`action ${look}`} disabled=${isOff || isBusy} title=${title} onClick=${open}><${Icon} name=${icon} size=${14} />${words}</button>
    ${problem ? html`<span class="fail" role="alert">${problem.message}</span>` : null}${Shown ? html`<${Shown} ...${given} onClose=${close} />` : null}`;
}

const more = () => import('./run_more.js').then((one) => one.More);

/** What is done more rarely. @param {ActionProps} props */
function More(props) {
  return html`<${Menu} words="More" dataKey="." load=${more} ...${props} />`;
}

/** Whether the server has the execution, and the user may change something. @param {any} run @param {string} arn @param {any} server */
function mayAct(run, arn, server) {
  return server?.mayWrite && isStored(run, arn);
}

/** @param {ActionProps} props */
function Stop({ run, arn, server, reload }) {
  if (!mayAct(run, arn, server) || run.head.status !== 'RUNNING') return null;
  return html`<${Behind} icon="stop" words="Stop…" load=${() => import('./run_dialogs.js').then((one) => one.StopDialog)} run=${run} arn=${arn} reload=${reload} />`;
}

/** @param {ActionProps} props */
function Redrive({ run, arn, server, reload }) {
  const { status } = run.head;
  if (!mayAct(run, arn, server) || status === 'RUNNING' || status === 'SUCCEEDED') return null;
  return html`<${Behind} icon="again" words="Redrive…" load=${() => import('./run_dialogs.js').then((one) => one.RedriveDialog)} run=${run} arn=${arn} reload=${reload} />`;
}

/** One like it. @param {ActionProps} props */
function Again({ run, arn, server }) {
  if (!mayAct(run, arn, server) || run.head.mapRunArn) return null;
  const target = run.head.aliasArn ?? run.head.versionArn ?? run.head.machineArn;
  return html`<a class="action" href=${format('start', target, { like: arn })}><${Icon} name="plus" size=${14} />New like this</a>`;
}

/** @param {ActionProps} props */
function Fork({ run, arn, state, visit, server }) {
  if (!mayAct(run, arn, server) || run.head.mapRunArn) return null;
  const point = forkPoint(run, state, visit);
  return html`<${Behind} icon="fork" look="primary" words=${point ? `Fork from ${shortened(plain(point.state.name))}` : 'Fork'} isOff=${!point}
    title=${point ? plain(point.state.name) : 'A fork begins at a state that was reached: choose one'} load=${() => import('./fork.js').then((one) => one.ForkDialog)} run=${run} arn=${arn} point=${point} chosen=${state?.name ?? ''} />`;
}

/** @param {string} name */
function shortened(name) {
  return name.length > 32 ? `${name.slice(0, 31)}…` : name;
}
