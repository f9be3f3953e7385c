// The list of queues: messages by where they stand, the oldest, dead letters; creating and deleting.

import { html, useState } from './vendor.js';
import { call } from './api.js';
import { Spark } from './charts.js';
import { Confirm, Dialog, useAction } from './dialogs.js';
import { count } from './format.js';
import { go } from './navigation.js';
import { Problem } from './parts.js';
import { useRead } from './reading.js';
import { format } from './route.js';
import { Ago, Pages, SearchBox } from './service_parts.js';

const EVERY_MS = 3000;

/** @param {{route: any, server: any}} props */
export function Page({ route, server }) {
  const { q = '', cursor = '' } = route.query;
  const { found, problem, again } = useRead('queues', { q, cursor }, { every: EVERY_MS });
  const [dialog, setDialog] = useState('');
  const [gone, setGone] = useState('');
  return html`<header class="head"><div class="title"><h1>Queues</h1><div class="actions">${server?.mayWrite ? html`<button class="action primary" onClick=${() => setDialog('create')}>Create queue</button>` : null}</div></div></header>
    <div class="filters"><${SearchBox} route=${route} label="Part of a name" /></div>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    ${!found ? (problem ? null : html`<p class="faint">Reading…</p>`) : !found.queues.length ? html`<div class="empty card">${q ? html`<p>No queue matches. <a href=${format('queues')}>Show all</a></p>` : html`<h2>No queue yet</h2><p>Create one here, with any AWS SDK, or with <code>statewright aws sqs create-queue --queue-name orders</code>.</p>`}</div>`
    : html`<div class="card scroll"><table class="list"><thead><tr><th>Name</th><th class="end">Visible</th><th class="end">In flight</th><th class="end big">Delayed</th><th class="big">Last hour</th><th class="end big">Oldest</th><th>Dead letters</th><th></th></tr></thead>
      <tbody>${found.queues.map((/** @type {any} */ one) => html`<tr key=${one.name}><td class="name roomy"><a href=${format('queue', one.name)}>${one.name}</a></td>
        <td class="end">${count(one.visible)}</td><td class="end">${count(one.inFlight)}</td><td class="end big">${count(one.delayed)}</td>
        <td class="big"><${Spark} values=${one.line} words=${`Visible messages in the last hour, at most ${Math.max(0, ...one.line)}`} /></td>
        <td class="end big"><${Ago} ms=${one.oldestMs} now=${found.nowMs} /></td>
        <td><${DeadLetters} one=${one} /></td>
        <td class="end">${server?.mayWrite ? html`<button class="action small" aria-label=${`Delete ${one.name}`} onClick=${() => setGone(one.name)}>Delete…</button>` : null}</td></tr>`)}</tbody></table></div>
      <${Pages} route=${route} next=${found.next} />`}
    ${dialog ? html`<${Create} onClose=${() => setDialog('')} />` : null}
    ${gone ? html`<${Confirm} title="Delete a queue" verb="Delete queue" typed=${gone} onClose=${() => setGone('')} words=${html`The queue <b>${gone}</b> and all its messages are deleted, also those in flight.`}
      onConfirm=${async () => {
    await call('sqs', 'DeleteQueue', { QueueUrl: gone });
    again();
  }} />` : null}`;
}

/** @param {{one: any}} props */
export function DeadLetters({ one }) {
  if (!one.deadLetters) return one.sources ? html`<span class="faint">gets those of ${one.sources}</span>` : html`<span class="faint">none</span>`;
  const { name, visible, receives } = one.deadLetters;
  if (visible === null) return html`<span class="fail">${name} does not exist</span>`;
  return html`<a class="link" href=${format('queue', name)}>${name}</a> ${visible ? html`<b class="fail">${count(visible)}</b>` : html`<span class="faint">empty</span>`} <span class="faint">after ${receives}</span>`;
}

/** @param {{onClose: () => void}} props */
function Create({ onClose }) {
  const [name, setName] = useState('');
  const [isFifo, setFifo] = useState(false);
  const [deadLetters, setDeadLetters] = useState('');
  const [receives, setReceives] = useState('5');
  const [visibility, setVisibility] = useState('30');
  const { isBusy, problem, run } = useAction();
  const create = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(async () => {
      const whole = isFifo && !name.endsWith('.fifo') ? `${name.trim()}.fifo` : name.trim();
      /** @type {Record<string, string>} */
      const attributes = { VisibilityTimeout: visibility.trim() };
      if (isFifo) Object.assign(attributes, { FifoQueue: 'true', ContentBasedDeduplication: 'true' });
      if (deadLetters.trim()) attributes.RedrivePolicy = JSON.stringify({ deadLetterTargetArn: deadLetters.trim(), maxReceiveCount: receives.trim() });
      await call('sqs', 'CreateQueue', { QueueName: whole, Attributes: attributes });
      onClose();
      go(format('queue', whole));
    });
  };
  return html`<${Dialog} title="Create a queue" onClose=${onClose}><form class="form" onSubmit=${create}>
    <label>Name <input required maxlength="80" value=${name} onInput=${(/** @type {any} */ event) => setName(event.target.value)} /></label>
    <label class="checkbox"><input type="checkbox" checked=${isFifo} onChange=${(/** @type {any} */ event) => setFifo(event.target.checked)} /> FIFO: in order within a group, once each</label>
    <label>Visibility timeout, in seconds <input inputmode="numeric" value=${visibility} onInput=${(/** @type {any} */ event) => setVisibility(event.target.value)} /></label>
    <label>Dead-letter queue, its ARN (empty: none) <input value=${deadLetters} onInput=${(/** @type {any} */ event) => setDeadLetters(event.target.value)} /></label>
    ${deadLetters.trim() ? html`<label>Receives before a message is moved there <input inputmode="numeric" value=${receives} onInput=${(/** @type {any} */ event) => setReceives(event.target.value)} /></label>` : null}
    ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : null}
    <footer><button type="button" class="action" onClick=${onClose}>Cancel</button><button class="action primary" disabled=${isBusy || !name.trim()}>Create</button></footer></form><//>`;
}
