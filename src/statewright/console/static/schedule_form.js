// The form of a schedule: what fires when, with the next instants as they are typed.

import { html, useEffect, useState } from './vendor.js';
import { call, read } from './api.js';
import { Choice, Field, FormDialog } from './forms.js';
import { isHidden } from './items.js';
import { go } from './navigation.js';
import { format } from './route.js';
import { jsonProblem } from './values.js';
import { inZone } from './when.js';

const PAUSE_MS = 300;
const EDITED = new Set(['Arn', 'CreationDate', 'LastModificationDate']);

/** Creates a schedule, or changes the one that is given as GetSchedule answers it. @param {{server: any, schedule?: any, onClose: () => void}} props */
export function ScheduleForm({ server, schedule = null, onClose }) {
  const [name, setName] = useState(schedule?.Name ?? '');
  const [expression, setExpression] = useState(schedule?.ScheduleExpression ?? 'rate(5 minutes)');
  const [zone, setZone] = useState(schedule?.ScheduleExpressionTimezone ?? 'UTC');
  const [target, setTarget] = useState(schedule?.Target?.Arn ?? '');
  const [input, setInput] = useState(schedule?.Target?.Input ?? '');
  const [once, setOnce] = useState(schedule?.ActionAfterCompletion === 'DELETE' ? 'DELETE' : 'NONE');
  const [preview, setPreview] = useState(/** @type {any} */ (null));
  const [machines, setMachines] = useState(/** @type {any[]} */ ([]));
  useEffect(() => {
    const stop = new AbortController();
    read('machines', {}, stop.signal).then((found) => setMachines(found.machines), () => {});
    return () => stop.abort();
  }, []);
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => read('schedules/preview', { expression: expression.trim() || ' ', zone }, stop.signal).then(setPreview, (problem) => (stop.signal.aborted ? null : setPreview({ problem }))), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [expression, zone]);
  const odd = input.trim() ? jsonProblem(input) : '';
  const save = async () => {
    if (isHidden(schedule && { ...schedule, Target: { ...schedule.Target, Input: input } })) throw new Error('The settings hide a value of this schedule (•••). Saving it would put ••• in its place; write the value first.');
    const kept = /** @type {Record<string, any>} */ (schedule ? Object.fromEntries(Object.entries(schedule).filter(([key, value]) => !EDITED.has(key) && value !== null)) : { FlexibleTimeWindow: { Mode: 'OFF' } });
    // Instants in requests are seconds.
    for (const key of ['StartDate', 'EndDate']) if (kept[key]) kept[key] /= 1000;
    const own = { ...(schedule?.Target ?? { RoleArn: `arn:aws:iam::${server.account}:role/console` }), Arn: target.trim() };
    delete own.Input;
    if (input.trim()) own.Input = input;
    await call('scheduler', schedule ? 'UpdateSchedule' : 'CreateSchedule', { ...kept, Name: name, ScheduleExpression: expression.trim(), ScheduleExpressionTimezone: zone, ActionAfterCompletion: once, Target: own });
    if (!schedule) go(format('schedules', `schedule:default/${name}`));
  };
  return html`<${FormDialog} title=${schedule ? `Change ${name}` : 'Create a schedule'} verb=${schedule ? 'Save' : 'Create'} onSubmit=${save} onClose=${onClose}>
    ${schedule ? null : html`<${Field} label="Name" value=${name} onInput=${setName} needed />`}
    <${Field} label="Expression" value=${expression} onInput=${setExpression} needed hint="rate(5 minutes), cron(0 8 ? * MON-FRI *) or at(2027-01-31T12:00:00)" />
    <${Field} label="Time zone" value=${zone} onInput=${setZone} hint="UTC, or a name like Europe/Berlin" />
    <div aria-live="polite">${preview?.problem ? html`<p class="fail">${preview.problem.message}</p>` : preview ? html`<p>${preview.words}</p>
      ${preview.nextMs.length ? html`<ol class="cat-nexts">${preview.nextMs.map((/** @type {number} */ ms) => html`<li>${inZone(ms, zone)}</li>`)}</ol>` : html`<p class="faint">It never fires.</p>`}` : null}</div>
    <label>Target (ARN)<input value=${target} required list="targets" autocomplete="off" spellcheck=${false} onInput=${(/** @type {any} */ event) => setTarget(event.target.value)} />
      <datalist id="targets">${machines.map((one) => html`<option value=${one.arn}>${one.name}</option>`)}</datalist><span class="faint">A state machine, function, queue, topic or bus</span></label>
    <${Field} label="Input (JSON; without one the target gets an event)" value=${input} onInput=${setInput} rows=${4} />
    ${odd ? html`<p class="faint">This is no JSON, so it is sent as text: ${odd}</p>` : null}
    <${Choice} label="Once it is over" value=${once} onChange=${setOnce} options=${[['NONE', 'Keep it'], ['DELETE', 'Delete it']]} /><//>`;
}
