// Stacks: the list, and one with its resources, outputs and events.

import { html } from './vendor.js';
import { Icon } from './icons.js';
import { placeOf } from './links.js';
import { Facts, List, Part, Table } from './lists.js';
import { go } from './navigation.js';
import { Problem, Tabs } from './parts.js';
import { format, here } from './route.js';
import { useCall } from './use_call.js';
import { Instant, When } from './when.js';

/** @param {{status: string}} props */
function Status({ status }) {
  const words = status.toLowerCase().replaceAll('_', ' ');
  const [tone, icon] = status.includes('FAILED') || status.startsWith('ROLLBACK') || status.includes('_ROLLBACK_COMPLETE') ? ['fail', 'cross'] : status.endsWith('IN_PROGRESS') ? ['run', 'run'] : status === 'DELETE_COMPLETE' ? ['idle', 'cross'] : ['ok', 'check'];
  return html`<span class=${`badge t-${tone}`}><${Icon} name=${icon} size=${12} />${words}</span>`;
}

/** @param {{route: import('./route.js').Route, server: any}} props */
export function Page({ route, server }) {
  if (route.id) return html`<${Detail} route=${route} server=${server} />`;
  const { deleted = '' } = route.query;
  const columns = [
    { title: 'Name', look: 'name', cell: (/** @type {any} */ row) => html`<a href=${format('stacks', row.status === 'DELETE_COMPLETE' ? row.arn : row.name)}><bdi>${row.name}</bdi></a>` },
    { title: 'Status', look: 'tight', cell: (/** @type {any} */ row) => html`<${Status} status=${row.status} />` },
    { title: 'Changed', look: 'tight', cell: (/** @type {any} */ row) => html`<${When} ms=${row.updatedMs ?? row.createdMs} />` },
    { title: 'Description', cell: (/** @type {any} */ row) => html`<bdi class="cat-cell">${row.description ?? ''}</bdi>` },
    { title: 'Reason', look: 'error', cell: (/** @type {any} */ row) => html`<bdi class="cat-cell">${row.reason}</bdi>` },
  ];
  return html`<header class="head"><h1>Stacks</h1></header><${List} route=${route} name="stacks" label="Stacks" columns=${columns} keyOf=${(/** @type {any} */ row) => row.arn} extra=${{ deleted }}
    filters=${html`<label class="cat-check"><input type="checkbox" checked=${Boolean(deleted)} onChange=${(/** @type {any} */ event) => go(format('stacks', '', { ...route.query, deleted: event.target.checked ? '1' : null, cursor: null }))} /> with deleted ones</label>`}
    empty=${html`<h2>No stack yet</h2><p>Create one with <code>statewright aws cloudformation deploy …</code>, or with the CDK or SAM.</p>`} />`;
}

/** The page of a resource of a stack, or ''. @param {any} resource @param {any} server */
export function resourcePage(resource, server) {
  const id = resource.PhysicalResourceId;
  if (!id) return '';
  const owner = `${here.region || server?.region || 'us-east-1'}:${server?.account ?? '000000000000'}`;
  if (id.startsWith('arn:')) return placeOf(id).address;
  /** @type {Record<string, string>} */
  const arns = {
    'AWS::Lambda::Function': `arn:aws:lambda:${owner}:function:${id}`, 'AWS::DynamoDB::Table': `arn:aws:dynamodb:${owner}:table/${id}`,
    'AWS::S3::Bucket': `arn:aws:s3:::${id}`, 'AWS::SQS::Queue': `arn:aws:sqs:${owner}:${id.split('/').pop()}`, 'AWS::Events::EventBus': `arn:aws:events:${owner}:event-bus/${id}`,
    'AWS::Scheduler::Schedule': `arn:aws:scheduler:${owner}:schedule/${id.includes('/') ? id : `default/${id}`}`,
  };
  if (Object.hasOwn(arns, resource.ResourceType)) return placeOf(arns[resource.ResourceType]).address;
  if (resource.ResourceType === 'AWS::ApiGatewayV2::Api' || resource.ResourceType === 'AWS::ApiGateway::RestApi') return format('apis', id);
  return '';
}

/** @type {[string, string][]} */
const VIEWS = [['resources', 'Resources'], ['outputs', 'Outputs'], ['events', 'Events']];

/** @param {{route: import('./route.js').Route, server: any}} props */
function Detail({ route, server }) {
  const StackName = route.id;
  const { found, problem, again } = useCall('cloudformation', 'DescribeStacks', { StackName }, { every: 2000 });
  const head = html`<div class="crumbs"><a href=${format('stacks')}>Stacks</a></div>`;
  const stack = found?.Stacks?.[0];
  if (!stack) return html`<header class="head">${head}<h1><bdi>${route.id}</bdi></h1></header>${problem ? html`<${Problem} problem=${problem} again=${again} />` : html`<p class="faint">Reading…</p>`}`;
  const view = VIEWS.some(([key]) => key === route.query.view) ? route.query.view : 'resources';
  return html`<header class="head">${head}<div class="title"><h1><bdi>${stack.StackName}</bdi></h1><${Status} status=${stack.StackStatus} /></div>
    <${Facts} facts=${[['Created', html`<${Instant} ms=${stack.CreationTime} />`], ['Changed', stack.LastUpdatedTime ? html`<${Instant} ms=${stack.LastUpdatedTime} />` : null], ['Reason', stack.StackStatusReason], ['Description', stack.Description]]} /></header>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    <${Tabs} items=${VIEWS} chosen=${view} label="Stack" panel="stack" onChoose=${(/** @type {string} */ one) => go(format('stacks', route.id, { view: one }))} />
    <div id="stack" role="tabpanel" class="cat-part" aria-labelledby=${`stack-${view}`}>${view === 'outputs' ? html`<${Outputs} stack=${stack} />` : view === 'events' ? html`<${Events} name=${StackName} />` : html`<${Resources} name=${StackName} server=${server} />`}</div>`;
}

/** @param {{stack: any}} props */
function Outputs({ stack }) {
  const pair = (/** @type {any} */ one) => ({ name: one.OutputKey ?? one.ParameterKey, value: one.OutputValue ?? one.ParameterValue ?? '', kind: one.OutputKey ? 'output' : 'parameter', more: one.Description ?? one.ExportName ?? '' });
  const rows = [...(stack.Outputs ?? []), ...(stack.Parameters ?? [])].map(pair);
  const columns = [
    { title: 'Name', look: 'name', cell: (/** @type {any} */ row) => html`<bdi>${row.name}</bdi>` }, { title: 'Kind', look: 'tight', cell: (/** @type {any} */ row) => row.kind },
    { title: 'Value', cell: (/** @type {any} */ row) => html`<bdi class="mono">${row.value}</bdi>` }, { title: 'Description', cell: (/** @type {any} */ row) => html`<bdi>${row.more}</bdi>` },
  ];
  return rows.length ? html`<${Table} label="Outputs and parameters" rows=${rows} columns=${columns} keyOf=${(/** @type {any} */ row) => `${row.kind} ${row.name}`} />` : html`<div class="empty card"><p>It has neither outputs nor parameters.</p></div>`;
}

/** @param {{name: string, server: any}} props */
function Resources({ name, server }) {
  const { found, problem, again } = useCall('cloudformation', 'ListStackResources', { StackName: name }, { every: 2000 });
  if (!found) return problem ? html`<${Problem} problem=${problem} again=${again} />` : html`<p class="faint">Reading…</p>`;
  const columns = [
    { title: 'Logical id', look: 'name', cell: (/** @type {any} */ row) => html`<bdi>${row.LogicalResourceId}</bdi>` },
    { title: 'Type', look: 'tight', cell: (/** @type {any} */ row) => row.ResourceType },
    { title: 'Physical id', cell: (/** @type {any} */ row) => { const address = resourcePage(row, server); return address ? html`<a class="link" href=${address}><bdi>${row.PhysicalResourceId}</bdi></a>` : html`<bdi>${row.PhysicalResourceId ?? ''}</bdi>`; } },
    { title: 'Status', look: 'tight', cell: (/** @type {any} */ row) => html`<${Status} status=${row.ResourceStatus} />` },
    { title: 'Reason', look: 'error', cell: (/** @type {any} */ row) => row.ResourceStatusReason ?? '' },
  ];
  return html`<${Table} label="Resources" rows=${found.StackResourceSummaries} columns=${columns} keyOf=${(/** @type {any} */ row) => row.LogicalResourceId} />${found.NextToken ? html`<p class="faint">The first hundred are shown.</p>` : null}`;
}

/** @param {{name: string}} props */
function Events({ name }) {
  const { found, problem, again } = useCall('cloudformation', 'DescribeStackEvents', { StackName: name }, { every: 2000 });
  if (!found) return problem ? html`<${Problem} problem=${problem} again=${again} />` : html`<p class="faint">Reading…</p>`;
  const columns = [
    { title: 'When', look: 'tight', cell: (/** @type {any} */ row) => html`<${Instant} ms=${row.Timestamp} />` },
    { title: 'Logical id', look: 'name', cell: (/** @type {any} */ row) => html`<bdi>${row.LogicalResourceId}</bdi>` },
    { title: 'Status', look: 'tight', cell: (/** @type {any} */ row) => html`<${Status} status=${row.ResourceStatus} />` },
    { title: 'Reason', look: 'error', cell: (/** @type {any} */ row) => row.ResourceStatusReason ?? '' },
  ];
  return html`<${Table} label="Events" rows=${found.StackEvents.slice(0, 100)} columns=${columns} keyOf=${(/** @type {any} */ row) => row.EventId} />${found.NextToken || found.StackEvents.length > 100 ? html`<p class="faint">The last hundred are shown.</p>` : null}`;
}
