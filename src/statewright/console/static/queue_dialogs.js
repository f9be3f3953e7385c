// The forms of a queue: sending a message, moving dead letters.

import { html, useState } from './vendor.js';
import { call } from './api.js';
import { Dialog, useAction } from './dialogs.js';
import { plural } from './format.js';
import { wholeNumber } from './inputs.js';
import { readAttributes } from './queue_words.js';

/** @param {{found: any, onClose: () => void, again: () => void}} props */
export function Send({ found, onClose, again }) {
  const [form, setForm] = useState({ body: '', group: '', dedup: '', delay: '', attributes: '' });
  const [sent, setSent] = useState('');
  const { isBusy, problem, run } = useAction();
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setForm((/** @type {any} */ before) => ({ ...before, [name]: event.target.value }));
  const isByContent = found.attributes.ContentBasedDeduplication === 'true';
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    setSent('');
    run(async () => {
      /** @type {Record<string, unknown>} */
      const request = { QueueUrl: found.name, MessageBody: form.body };
      if (form.attributes.trim()) request.MessageAttributes = readAttributes(form.attributes);
      if (form.group.trim()) request.MessageGroupId = form.group.trim();
      if (found.fifo && form.dedup.trim()) request.MessageDeduplicationId = form.dedup.trim();
      if (!found.fifo && form.delay.trim()) request.DelaySeconds = wholeNumber(form.delay, 'The delay');
      const answer = await call('sqs', 'SendMessage', request);
      setSent(answer.MessageId);
      again();
    });
  };
  return html`<${Dialog} title=${`Send to ${found.name}`} onClose=${onClose}><form class="form" onSubmit=${send}>
    <label>Body <textarea rows="7" required value=${form.body} onInput=${set('body')}></textarea></label>
    <div class="two"><label>${found.fifo ? 'Message group' : 'Message group (fair queues; empty: none)'} <input required=${found.fifo} value=${form.group} onInput=${set('group')} /></label>
      ${found.fifo ? html`<label>Deduplication id${isByContent ? ' (empty: by content)' : ''} <input required=${!isByContent} value=${form.dedup} onInput=${set('dedup')} /></label>`
    : html`<label>Delay, in seconds (empty: the queue's) <input inputmode="numeric" value=${form.delay} onInput=${set('delay')} /></label>`}</div>
    <label>Message attributes, one a line: NAME=VALUE or NAME Number=VALUE <textarea rows="2" value=${form.attributes} onInput=${set('attributes')}></textarea></label>
    ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : null}
    ${sent ? html`<p role="status">Sent as <code>${sent}</code>.</p>` : null}
    <footer><button type="button" class="action" onClick=${onClose}>${sent ? 'Close' : 'Cancel'}</button><button class="action primary" disabled=${isBusy}>${sent ? 'Send again' : 'Send'}</button></footer></form><//>`;
}

/** @param {{found: any, onClose: () => void, onMoved: () => void}} props */
export function Move({ found, onClose, onMoved }) {
  const [target, setTarget] = useState('');
  const [rate, setRate] = useState('');
  const { isBusy, problem, run } = useAction();
  const start = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(async () => {
      await call('sqs', 'StartMessageMoveTask', {
        SourceArn: found.arn,
        ...(target.trim() ? { DestinationArn: target.trim() } : {}),
        ...(rate.trim() ? { MaxNumberOfMessagesPerSecond: wholeNumber(rate, 'The rate') } : {}),
      });
      onMoved();
      onClose();
    });
  };
  return html`<${Dialog} title="Move dead letters" onClose=${onClose}><form class="form" onSubmit=${start}>
    <p>${plural(found.visible, 'visible message')} of <b>${found.name}</b> are moved, each back to the queue that it came from. Consumers of that queue will receive them again.</p>
    <label>To another queue instead, its ARN <input value=${target} onInput=${(/** @type {any} */ event) => setTarget(event.target.value)} /></label>
    <label>At most so many a second (empty: as fast as possible) <input inputmode="numeric" value=${rate} onInput=${(/** @type {any} */ event) => setRate(event.target.value)} /></label>
    ${problem ? html`<p class="fail" role="alert">${problem.message}</p>` : null}
    <footer><button type="button" class="action" onClick=${onClose}>Cancel</button><button class="action primary" disabled=${isBusy}>Move</button></footer></form><//>`;
}
