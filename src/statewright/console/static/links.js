// Links from ARNs to the console's own pages. A resource that has no page is shown as text.

import { html } from './vendor.js';
import { PAGES } from './pages.js';
import { format, regionOf } from './route.js';

/**
 * Name, kind and address of what an ARN names; an address of '' if no page shows it.
 * @param {string} arn @param {Record<string, unknown>} [pages]
 */
export function placeOf(arn, pages = PAGES) {
  const [, , service = '', , , ...rest] = arn.split(':');
  const tail = rest.join(':');
  const region = regionOf(arn) || undefined;
  const has = (/** @type {string} */ page) => Object.hasOwn(pages, page);
  const found = (/** @type {string} */ kind, /** @type {string} */ name, /** @type {string} */ page, /** @type {string} */ id, address = '') => (
    { kind, name, address: address || (has(page) ? format(page, id, { region }) : '') });
  if (arn.startsWith('arn:aws:scheduler:::aws-sdk:')) return { kind: 'operation', name: rest.slice(1).join(':') || tail, address: '' };
  if (service === 'states' && rest[0] === 'stateMachine') {
    const machine = arn.split(':').slice(0, 7).join(':');
    return found('state machine', rest.slice(1).join(':'), 'machine', machine, has('machine') ? '' : format('executions', '', { machine, region }));
  }
  if (service === 'states' && rest[0] === 'execution') return found('execution', rest[rest.length - 1], 'execution', arn);
  if (service === 'lambda' && rest[0] === 'function') return found('function', rest.slice(1).join(':'), 'function', rest[1] ?? '');
  if (service === 'sqs') return found('queue', tail, 'queue', tail);
  if (service === 'sns') return rest.length > 1 ? found('subscription', rest[1], '', '') : found('topic', tail, 'topics', tail);
  if (service === 'dynamodb') return found('table', tail.split('/')[1] ?? tail, 'tables', tail.split('/')[1] ?? '');
  if (service === 's3') return found('bucket', tail.split('/')[0], 'objects', tail.split('/')[0]);
  if (service === 'events' && tail.startsWith('event-bus/')) {
    const bus = tail.slice(10);
    return found('event bus', bus, '', '', has('events') ? format('events', '', { bus, region }) : '');
  }
  if (service === 'events' && tail.startsWith('rule/')) {
    const [name, bus = 'default'] = tail.slice(5).split('/').reverse();
    return found('rule', name, '', '', has('events') ? format('events', '', { view: 'rules', bus, q: name, region }) : '');
  }
  if (service === 'scheduler' && tail.startsWith('schedule/')) return found('schedule', tail.slice(9), 'schedules', `schedule:${tail.slice(9)}`);
  if (service === 'cloudformation' && tail.startsWith('stack/')) return found('stack', tail.split('/')[1], 'stacks', tail.split('/')[1]);
  if (service === 'ecs' && tail.startsWith('cluster/')) return found('cluster', tail.slice(8), 'jobs', '');
  if (service === 'batch') return found('job queue', tail.split('/')[1] ?? tail, 'jobs', '');
  return { kind: service, name: tail || arn, address: '' };
}

/** What an ARN names, with a link if the console shows it. @param {{arn: string}} props */
export function Arn({ arn }) {
  const { kind, name, address } = placeOf(arn);
  const shown = name.length > 120 ? `${name.slice(0, 120)}…` : name;
  return html`<span title=${arn.slice(0, 400)}><span class="faint">${kind}</span> ${address ? html`<a class="link" href=${address}><bdi>${shown}</bdi></a>` : html`<bdi>${shown}</bdi>`}</span>`;
}
