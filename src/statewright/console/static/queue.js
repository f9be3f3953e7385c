// One queue: its messages without receiving them, sending, moving dead letters, what its attributes mean.

import { html, useState } from './vendor.js';
import { call } from './api.js';
import { Split, TimeChart } from './charts.js';
import { Confirm } from './dialogs.js';
import { count, instant, iso, plural } from './format.js';
import { Json } from './json.js';
import { go } from './navigation.js';
import { Problem, Tabs } from './parts.js';
import { useRead } from './reading.js';
import { format } from './route.js';
import { Ago, At, changed, lastOf, Missing } from './service_parts.js';
import { Move, Send } from './queue_dialogs.js';
import { firstOf, meanings, opened, policies } from './queue_words.js';
import { useCall } from './use_call.js';

const EVERY_MS = 2000;
/** @type {[string, string][]} */
const TABS = [['messages', 'Messages'], ['moves', 'Moves'], ['settings', 'Settings'], ['readers', 'Readers']];

/** @param {{route: any, server: any}} props */
export function Page({ route, server }) {
  const name = route.id;
  const { found, problem, again } = useRead('queue', { name }, { every: EVERY_MS });
  const [dialog, setDialog] = useState('');
  if (problem && !found) return html`<${Missing} problem=${problem} again=${again} what="queue"><a href=${format('queues')}>All queues</a><//>`;
  if (!found) return html`<p class="faint pad">Reading…</p>`;
  const tab = TABS.some(([key]) => key === route.query.tab) ? route.query.tab : 'messages';
  const isTarget = found.sources > 0;
  return html`<header class="head"><div class="crumbs"><a href=${format('queues')}>Queues</a></div><div class="title"><h1><bdi>${name}</bdi></h1>${found.fifo ? html`<span class="badge t-idle">FIFO</span>` : null}
      ${server?.mayWrite ? html`<div class="actions"><button class="action primary" onClick=${() => setDialog('send')}>Send…</button>
        ${isTarget ? html`<button class="action" onClick=${() => setDialog('move')}>Move back…</button>` : null}<button class="action" onClick=${() => setDialog('purge')}>Purge…</button><button class="action" onClick=${() => setDialog('delete')}>Delete…</button></div>` : null}</div></header>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    <div class="parts"><section class="card block"><h2>${plural(found.visible + found.inFlight + found.delayed, 'message')}</h2>
        <${Split} label="Messages" items=${[{ name: 'Visible', tone: 'run', n: found.visible }, { name: 'In flight', tone: 'wait', n: found.inFlight }, { name: 'Delayed', tone: 'idle', n: found.delayed }]} />
        <dl class="pairs under"><dt>Oldest</dt><dd><${Ago} ms=${found.oldestMs} now=${found.nowMs} /></dd>
          <dt>Dead letters</dt><dd>${found.deadLetters ? html`go to <a class="link" href=${format('queue', found.deadLetters.name)}>${found.deadLetters.name}</a> after ${plural(found.deadLetters.receives, 'receive')}; ${found.deadLetters.visible === null ? html`<span class="fail">it does not exist</span>` : `${count(found.deadLetters.visible)} there`}` : html`<span class="faint">no dead-letter queue</span>`}</dd>
          ${isTarget ? html`<dt>Dead letters of</dt><dd>${found.sourceNames.map((/** @type {string} */ one) => html`<a class="link" href=${format('queue', one)}>${one}</a> `)}</dd>` : null}</dl></section>
      <section class="card"><${Depth} name=${name} now=${found.nowMs} /></section></div>
    <section class="card"><${Tabs} items=${TABS} chosen=${tab} label="Parts of the queue" panel="queue-part" onChoose=${(/** @type {string} */ key) => go(changed(route, { tab: key === 'messages' ? null : key }), true)} />
      <div role="tabpanel" id="queue-part" aria-labelledby=${`queue-part-${tab}`} tabindex="0">
      ${tab === 'messages' ? html`<${Messages} name=${name} route=${route} total=${found.visible + found.inFlight + found.delayed} />` : tab === 'moves' ? html`<${Moves} found=${found} server=${server} />`
    : tab === 'settings' ? html`<${Settings} found=${found} />` : html`<${Readers} arn=${found.arn} />`}</div></section>
    ${dialog === 'send' ? html`<${Send} found=${found} onClose=${() => setDialog('')} again=${again} />` : null}
    ${dialog === 'move' ? html`<${Move} found=${found} onClose=${() => setDialog('')} onMoved=${() => go(changed(route, { tab: 'moves' }))} />` : null}
    ${dialog === 'purge' ? html`<${Confirm} title="Purge the queue" verb="Delete all messages" typed=${name} onClose=${() => setDialog('')} words=${`All ${plural(found.visible + found.inFlight + found.delayed, 'message')} are deleted, also those in flight and delayed.`}
      onConfirm=${async () => {
    await call('sqs', 'PurgeQueue', { QueueUrl: name });
    again();
  }} />` : null}
    ${dialog === 'delete' ? html`<${Confirm} title="Delete the queue" verb="Delete queue" typed=${name} onClose=${() => setDialog('')} words="The queue and all its messages are deleted."
      onConfirm=${async () => {
    await call('sqs', 'DeleteQueue', { QueueUrl: name });
    go(format('queues'));
  }} />` : null}`;
}

const HOUR_MS = 3600000;
const MINUTE_MS = 60000;

/** @param {{name: string, now: number}} props */
function Depth({ name, now }) {
  const to = now - (now % MINUTE_MS);
  const metric = (/** @type {string} */ id, /** @type {string} */ of) => ({ Id: id, MetricStat: { Metric: { Namespace: 'AWS/SQS', MetricName: of, Dimensions: [{ Name: 'QueueName', Value: name }] }, Period: 60, Stat: 'Maximum' } });
  // Instants in requests are seconds, those in answers milliseconds.
  const request = { StartTime: (to - HOUR_MS) / 1000, EndTime: (to + MINUTE_MS) / 1000, ScanBy: 'TimestampAscending', MetricDataQueries: [metric('visible', 'ApproximateNumberOfMessagesVisible'), metric('hidden', 'ApproximateNumberOfMessagesNotVisible')] };
  const { found, problem } = useCall('monitoring', 'GetMetricData', request, { keep: true });
  if (problem) return html`<p class="fail pad">${problem.message}</p>`;
  const points = (/** @type {string} */ id) => {
    const one = (found?.MetricDataResults ?? []).find((/** @type {any} */ each) => each.Id === id);
    return (one?.Timestamps ?? []).map((/** @type {number} */ ms, /** @type {number} */ place) => [ms, one.Values[place]]);
  };
  return html`<${TimeChart} title="Last hour" from=${to - HOUR_MS} to=${to + MINUTE_MS} series=${[{ name: 'visible', tone: 'run', points: points('visible'), area: true }, { name: 'in flight', tone: 'wait', points: points('hidden') }]} none=${found ? 'Nothing was recorded yet.' : 'Reading…'} />`;
}

const FIRST = 20;
const MOST = 200;

/** @param {{name: string, route: any, total: number}} props */
function Messages({ name, route, total }) {
  const limit = route.query.most === 'more' ? MOST : FIRST;
  const { found, problem, again } = useRead('queue/peek', { name, limit }, { every: EVERY_MS });
  const [open, setOpen] = useState('');
  if (problem) return html`<${Problem} problem=${problem} again=${again} />`;
  if (!found) return html`<p class="faint pad">Reading…</p>`;
  if (!found.messages.length) return html`<p class="faint pad">The queue is empty. <code>statewright queue send NAME BODY</code> sends a message.</p>`;
  return html`<p class="faint pad">These are the messages that are, were or will be visible first. They are looked at and not received: nothing changes for consumers.</p>
    <div class="scroll"><table class="list"><thead><tr><th>Sent</th><th class="end">Receives</th><th>Body</th><th></th></tr></thead><tbody>${found.messages.map((/** @type {any} */ one) => html`<tr key=${one.id} class=${open === one.id ? 'on' : ''}>
      <td><${Ago} ms=${one.sentMs} now=${Date.now()} /></td><td class="end">${count(one.receives)}</td>
      <td class="mono">${open === one.id ? html`<${Message} one=${one} />` : html`<bdi>${firstOf(one.body)}</bdi>`}</td>
      <td class="end"><button class="action small" aria-expanded=${open === one.id} aria-label=${`${open === one.id ? 'Close' : 'Open'} message ${one.id}`} onClick=${() => setOpen(open === one.id ? '' : one.id)}>${open === one.id ? 'Close' : 'Open'}</button></td></tr>`)}</tbody></table></div>
    ${found.more ? html`<p class="pad">${limit === FIRST ? html`<a class="action" href=${changed(route, { most: 'more' })}>Show up to ${MOST}</a>` : html`<span class="faint">The first ${MOST} of ${count(total)} are shown.</span>`}</p>` : null}`;
}

/** @param {{one: any}} props */
function Message({ one }) {
  const body = opened(one.body);
  const trail = useRead('queue/trail', { message: one.id });
  const facts = [['Message id', one.id], ['Sent', iso(one.sentMs)], ['First received', one.firstReceivedMs ? iso(one.firstReceivedMs) : 'never'], ['Group', one.group], ['Deduplication id', one.dedup], ['Sequence number', one.sequence], ['Sender', one.sender], ['Dead letter of', one.sourceArn ? lastOf(one.sourceArn) : null],
    ...one.attributes.map((/** @type {any} */ each) => [`${each.name} (${each.type})`, each.value])].filter(([, value]) => value);
  return html`<div class="stack"><div class="result"><${Json} value=${body.value} whole=${{ text: one.body, length: one.length, isWhole: one.length === one.body.length }} /></div>
    <dl class="pairs">${facts.map(([name, value]) => html`<dt><bdi>${name}</bdi></dt><dd><bdi>${value}</bdi></dd>`)}</dl>
    ${trail.found?.entries.length ? html`<h3>What happened to it</h3><table class="list"><tbody>${trail.found.entries.map((/** @type {any} */ entry) => html`<tr><td title=${iso(entry.atMs)}>${instant(entry.atMs)}</td><td><b>${entry.kind}</b></td><td>${entry.detail}</td></tr>`)}</tbody></table>`
    : null}</div>`;
}

/** @param {{found: any, server: any}} props */
function Moves({ found, server }) {
  const { found: tasks, problem, again } = useCall('sqs', 'ListMessageMoveTasks', { SourceArn: found.arn, MaxResults: 10 }, { every: EVERY_MS });
  if (problem) return html`<p class="faint pad">${problem.message}</p>`;
  if (!tasks) return html`<p class="faint pad">Reading…</p>`;
  const rows = tasks.Results ?? [];
  if (!rows.length) return html`<p class="faint pad">No messages were moved out of this queue by a task. Dead letters are moved back with <code>statewright queue redrive NAME</code> or the button above.</p>`;
  return html`<div class="scroll"><table class="list"><thead><tr><th>Started</th><th>Status</th><th>Progress</th><th>To</th><th class="end">A second</th><th></th></tr></thead><tbody>${rows.map((/** @type {any} */ one) => {
    const moved = one.ApproximateNumberOfMessagesMoved ?? 0;
    const all = one.ApproximateNumberOfMessagesToMove ?? 0;
    return html`<tr key=${one.StartedTimestamp}><td><${At} ms=${one.StartedTimestamp} now=${found.nowMs} /></td><td><span class=${`badge t-${MOVES[one.Status] ?? 'idle'}`}>${one.Status.toLowerCase()}</span>${one.FailureReason ? html` <span class="fail">${one.FailureReason}</span>` : null}</td>
      <td><${Split} label="Moved" items=${[{ name: 'moved', tone: 'ok', n: moved }, { name: 'to move', tone: 'idle', n: Math.max(0, all - moved) }]} /></td>
      <td>${one.DestinationArn ? lastOf(one.DestinationArn) : 'their sources'}</td><td class="end">${one.MaxNumberOfMessagesPerSecond ?? html`<span class="faint">any</span>`}</td>
      <td class="end">${one.TaskHandle && server?.mayWrite ? html`<button class="action small" onClick=${() => call('sqs', 'CancelMessageMoveTask', { TaskHandle: one.TaskHandle }).then(again, again)}>Cancel</button>` : null}</td></tr>`;
  })}</tbody></table></div>`;
}

/** @type {Record<string, string>} */
const MOVES = { RUNNING: 'run', COMPLETED: 'ok', FAILED: 'fail', CANCELLING: 'wait', CANCELLED: 'idle' };

/** @param {{found: any}} props */
function Settings({ found }) {
  const rules = policies(found.attributes);
  return html`<div class="block stack"><dl class="pairs"><dt>ARN</dt><dd><code>${found.arn}</code></dd>${meanings(found.attributes).map(([name, words]) => html`<dt>${name}</dt><dd><bdi>${words}</bdi></dd>`)}
      <dt>Created</dt><dd><${At} ms=${found.createdMs} now=${found.nowMs} /></dd><dt>Changed</dt><dd><${At} ms=${found.modifiedMs} now=${found.nowMs} /></dd>
      ${Object.entries(found.tags).map(([name, value]) => html`<dt>Tag <bdi>${name}</bdi></dt><dd><bdi>${value}</bdi></dd>`)}</dl>
    ${rules.map((one) => html`<h3>${one.name}</h3><div class="result"><${Json} value=${one.value} /></div>`)}</div>`;
}

/** @param {{arn: string}} props */
function Readers({ arn }) {
  const { found, problem } = useCall('lambda', 'ListEventSourceMappings', { EventSourceArn: arn }, { every: EVERY_MS });
  if (problem) return html`<p class="fail pad">${problem.message}</p>`;
  if (!found) return html`<p class="faint pad">Reading…</p>`;
  if (!found.EventSourceMappings.length) return html`<p class="faint pad">No function reads this queue. An event source mapping makes one: <code>statewright aws lambda create-event-source-mapping</code>. Other consumers are not known here.</p>`;
  return html`<div class="scroll"><table class="list"><thead><tr><th>Function</th><th>State</th><th class="end">Batch</th><th class="end">At most</th><th>Last result</th></tr></thead><tbody>${found.EventSourceMappings.map((/** @type {any} */ one) => html`<tr key=${one.UUID}>
    <td class="name"><a href=${format('function', one.FunctionArn.split(':function:').pop().split(':')[0])}>${one.FunctionArn.split(':function:').pop()}</a></td><td><span class=${`badge t-${one.State === 'Enabled' ? 'ok' : 'idle'}`}>${one.State}</span></td>
    <td class="end">${one.BatchSize}</td><td class="end">${one.ScalingConfig?.MaximumConcurrency ?? html`<span class="faint">any</span>`}</td><td>${one.LastProcessingResult ?? ''}</td></tr>`)}</tbody></table></div>`;
}
