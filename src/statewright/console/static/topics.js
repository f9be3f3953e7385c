// Topics: the list, and one with its subscriptions, figures and a form to publish.

import { html, useState } from './vendor.js';
import { call } from './api.js';
import { Confirm } from './dialogs.js';
import { count } from './format.js';
import { Choice, Field, FormDialog } from './forms.js';
import { Json } from './json.js';
import { Arn } from './links.js';
import { Facts, List, Part, Table, useLast } from './lists.js';
import { go } from './navigation.js';
import { Problem } from './parts.js';
import { format, here } from './route.js';
import { attributesOf, jsonProblem, opened } from './values.js';
import { When } from './when.js';

/** @param {{route: import('./route.js').Route, server: any}} props */
export function Page({ route, server }) {
  if (route.id) return html`<${Detail} route=${route} server=${server} />`;
  const columns = [
    { title: 'Name', look: 'name', cell: (/** @type {any} */ row) => html`<a href=${format('topics', row.name)}><bdi>${row.name}</bdi></a>` },
    { title: 'Type', look: 'tight', cell: (/** @type {any} */ row) => (row.isFifo ? 'FIFO' : 'Standard') },
    { title: 'Subscriptions', look: 'end', cell: (/** @type {any} */ row) => html`${count(row.subscriptions)}${row.pending ? html` <span class="faint">${row.pending} pending</span>` : null}` },
    { title: 'With a filter', look: 'end', cell: (/** @type {any} */ row) => count(row.filtered) },
    { title: 'With dead letters', look: 'end', cell: (/** @type {any} */ row) => count(row.deadLetters) },
    { title: 'Created', look: 'tight', cell: (/** @type {any} */ row) => html`<${When} ms=${row.createdMs} />` },
  ];
  return html`<header class="head"><h1>Topics</h1></header><${List} route=${route} name="topics" label="Topics" columns=${columns} keyOf=${(/** @type {any} */ row) => row.arn}
    empty=${html`<h2>No topic yet</h2><p>Create one with any AWS SDK, or with <code>statewright aws sns create-topic --name order-events</code>.</p>`} />`;
}

/** @type {[string, string, string][]} */
const FIGURES = [['published', 'Published', ''], ['delivered', 'Delivered', ''], ['filtered', 'Filtered out', ''], ['failed', 'Failed', 'fail'], ['redriven', 'Dead letters', 'fail'], ['lost', 'Dead letters lost', 'fail']];

/** @param {{route: import('./route.js').Route, server: any}} props */
function Detail({ route, server }) {
  const arn = route.id.startsWith('arn:') ? route.id : server ? `arn:aws:sns:${here.region || server.region}:${server.account}:${route.id}` : null;
  const { found, problem, again } = useLast(arn ? 'topic' : null, { arn: arn, cursor: route.query.cursor }, 2000);
  const [dialog, setDialog] = useState(/** @type {any} */ (null));
  const crumbs = html`<div class="crumbs"><a href=${format('topics')}>Topics</a></div>`;
  if (!found) return html`<header class="head">${crumbs}<h1><bdi>${route.id.split(':').pop()}</bdi></h1></header>${problem ? html`<${Problem} problem=${problem} again=${again} />` : html`<p class="faint">Reading…</p>`}`;
  const close = () => {
    setDialog(null);
    again();
  };
  const columns = [
    { title: 'Protocol', look: 'tight', cell: (/** @type {any} */ row) => row.protocol },
    { title: 'Endpoint', cell: (/** @type {any} */ row) => (row.endpoint.startsWith('arn:') ? html`<${Arn} arn=${row.endpoint} />` : html`<bdi>${row.endpoint}</bdi>`) },
    { title: 'Status', look: 'tight', cell: (/** @type {any} */ row) => (row.isPending ? html`<span class="badge t-wait">Pending</span>` : html`<span class="badge t-ok">Confirmed</span>`) },
    { title: 'Filter', cell: (/** @type {any} */ row) => (row.filterPolicy ? html`<code class="cat-cell" title=${row.filterPolicy}>${row.filterPolicy.slice(0, 300)}</code><span class="faint">${row.filterScope === 'MessageBody' ? 'of the body' : 'of attributes'}</span>` : html`<span class="faint">every message</span>`) },
    { title: 'Delivery', cell: (/** @type {any} */ row) => html`${row.isRaw ? html`<div>raw</div>` : null}${row.deadLetters ? html`<div><span class="faint">dead letters to</span> <${Arn} arn=${row.deadLetters} /></div>` : html`<span class="faint">no dead letters</span>`}` },
    { title: '', look: 'tight', cell: (/** @type {any} */ row) => (server?.mayWrite ? html`<div class="cat-rowactions"><button class="action cat-small" onClick=${() => setDialog({ name: 'filter', row })}>Filter</button><button class="action cat-small" onClick=${() => setDialog({ name: 'unsubscribe', row })}>Unsubscribe</button></div>` : null) },
  ];
  return html`<header class="head">${crumbs}<div class="title"><h1><bdi>${found.name}</bdi></h1>${server?.mayWrite ? html`<div class="actions">
      <button class="action primary" onClick=${() => setDialog({ name: 'publish' })}>Publish</button><button class="action" onClick=${() => setDialog({ name: 'subscribe' })}>Subscribe</button></div>` : null}</div>
    <${Facts} facts=${[['Type', found.isFifo ? 'FIFO' : 'Standard'], ...FIGURES.map(([name, words, tone]) => [words, html`<span class=${found.figures[name] ? tone : ''}>${count(found.figures[name])}</span>`])]} />
    <p class="faint">Figures of the last hour</p></header>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    <${Part} title="Subscriptions">${found.subscriptions.length ? html`<${Table} label="Subscriptions" rows=${found.subscriptions} columns=${columns} keyOf=${(/** @type {any} */ row) => row.arn} />`
      : html`<div class="empty card"><p>Nothing is subscribed: messages that are published reach no one.</p></div>`}
      ${found.next || route.query.cursor ? html`<div class="cat-pager">${route.query.cursor ? html`<button class="action" onClick=${() => go(format('topics', route.id))}>First page</button>` : null}${found.next ? html`<button class="action" onClick=${() => go(format('topics', route.id, { cursor: found.next }))}>Next page</button>` : null}</div>` : null}<//>
    ${Object.keys(found.attributes).length ? html`<${Part} title="Attributes"><div class="card cat-pane" role="region" aria-label="JSON" tabindex="0"><${Json} value=${Object.fromEntries(Object.entries(found.attributes).map(([name, value]) => [name, opened(/** @type {string} */ (value))]))} /></div><//>` : null}
    ${dialog?.name === 'publish' ? html`<${Publish} topic=${found} onClose=${close} />` : null}
    ${dialog?.name === 'subscribe' ? html`<${Subscribe} topic=${found} onClose=${close} />` : null}
    ${dialog?.name === 'filter' ? html`<${FilterForm} row=${dialog.row} onClose=${close} />` : null}
    ${dialog?.name === 'unsubscribe' ? html`<${Confirm} title="End this subscription?" words=${html`Messages no longer reach <bdi>${dialog.row.endpoint}</bdi>.`} verb="Unsubscribe" onClose=${close}
      onConfirm=${async () => { await call('sns', 'Unsubscribe', { SubscriptionArn: dialog.row.arn }); }} />` : null}`;
}

/** @param {{topic: any, onClose: () => void}} props */
function Publish({ topic, onClose }) {
  const [message, setMessage] = useState('');
  const [subject, setSubject] = useState('');
  const [attributes, setAttributes] = useState('');
  const [group, setGroup] = useState('');
  const [unique, setUnique] = useState('');
  const publish = async () => {
    /** @type {Record<string, unknown>} */
    const request = { TopicArn: topic.arn, Message: message };
    if (subject) request.Subject = subject;
    if (attributes.trim()) request.MessageAttributes = attributesOf(attributes);
    if (topic.isFifo) request.MessageGroupId = group;
    if (topic.isFifo && unique) request.MessageDeduplicationId = unique;
    await call('sns', 'Publish', request);
  };
  return html`<${FormDialog} title=${`Publish to ${topic.name}`} verb="Publish" onSubmit=${publish} onClose=${onClose}>
    <${Field} label="Message" value=${message} onInput=${setMessage} rows=${6} needed />
    <${Field} label="Subject (may be empty)" value=${subject} onInput=${setSubject} />
    <${Field} label="Attributes, one a line: name=value" value=${attributes} onInput=${setAttributes} rows=${2} hint="Filters see them as texts; a value that is a number as a number" />
    ${topic.isFifo ? html`<${Field} label="Message group" value=${group} onInput=${setGroup} needed /><${Field} label="Deduplication id (may be empty)" value=${unique} onInput=${setUnique} />` : null}<//>`;
}

/** @param {{topic: any, onClose: () => void}} props */
function Subscribe({ topic, onClose }) {
  const [protocol, setProtocol] = useState('sqs');
  const [endpoint, setEndpoint] = useState('');
  const [policy, setPolicy] = useState('');
  const [isRaw, setRaw] = useState(false);
  const odd = policy.trim() ? jsonProblem(policy) : '';
  const subscribe = async () => {
    /** @type {Record<string, string>} */
    const attributes = {};
    if (policy.trim()) attributes.FilterPolicy = policy;
    if (isRaw) attributes.RawMessageDelivery = 'true';
    await call('sns', 'Subscribe', { TopicArn: topic.arn, Protocol: protocol, Endpoint: endpoint.trim(), Attributes: attributes, ReturnSubscriptionArn: true });
  };
  return html`<${FormDialog} title=${`Subscribe to ${topic.name}`} verb="Subscribe" isReady=${!odd} onSubmit=${subscribe} onClose=${onClose}>
    <${Choice} label="Protocol" value=${protocol} onChange=${setProtocol} options=${[['sqs', 'Queue (sqs)'], ['lambda', 'Function (lambda)'], ['http', 'http'], ['https', 'https']]} />
    <${Field} label=${protocol.startsWith('http') ? 'URL' : 'ARN'} value=${endpoint} onInput=${setEndpoint} needed />
    <${Field} label="Filter policy (JSON; empty for every message)" value=${policy} onInput=${setPolicy} rows=${3} hint=${odd} />
    <label class="cat-check"><input type="checkbox" checked=${isRaw} onChange=${(/** @type {any} */ event) => setRaw(event.target.checked)} /> Deliver the message alone (raw)</label><//>`;
}

/** @param {{row: any, onClose: () => void}} props */
function FilterForm({ row, onClose }) {
  const [policy, setPolicy] = useState(row.filterPolicy ?? '');
  const [scope, setScope] = useState(row.filterScope);
  const odd = policy.trim() ? jsonProblem(policy) : '';
  const save = async () => {
    const set = (/** @type {string} */ name, /** @type {string} */ value) => call('sns', 'SetSubscriptionAttributes', { SubscriptionArn: row.arn, AttributeName: name, AttributeValue: value });
    if (scope !== row.filterScope) {
      // A policy of one scope may be none of the other.
      if (row.filterPolicy) await set('FilterPolicy', '{}');
      await set('FilterPolicyScope', scope);
    }
    await set('FilterPolicy', policy.trim() || '{}');
  };
  return html`<${FormDialog} title="Filter of the subscription" verb="Save" isReady=${!odd} onSubmit=${save} onClose=${onClose}>
    <${Field} label="Filter policy (JSON; empty for every message)" value=${policy} onInput=${setPolicy} rows=${8} hint=${odd} />
    <${Choice} label="It looks at" value=${scope} onChange=${setScope} options=${[['MessageAttributes', 'the attributes'], ['MessageBody', 'the body']]} /><//>`;
}
