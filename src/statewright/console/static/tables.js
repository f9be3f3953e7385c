// Tables: the list, and one with its items, statements and settings.

import { html } from './vendor.js';
import { call } from './api.js';
import { count } from './format.js';
import { Facts, List, Part, Table } from './lists.js';
import { go } from './navigation.js';
import { Problem, Tabs } from './parts.js';
import { format } from './route.js';
import { Items } from './table_items.js';
import { Statement } from './table_statement.js';
import { useCall } from './use_call.js';
import { When, size } from './when.js';

/** @param {{route: import('./route.js').Route, server: any}} props */
export function Page({ route, server }) {
  if (route.id) return html`<${Detail} route=${route} server=${server} />`;
  const columns = [
    { title: 'Name', look: 'name', cell: (/** @type {any} */ row) => html`<a href=${format('tables', row.name)}>${row.name}</a>` },
    { title: 'Items', look: 'end', cell: (/** @type {any} */ row) => count(row.items) },
    { title: 'Size', look: 'end', cell: (/** @type {any} */ row) => size(row.bytes) },
    { title: 'Key', cell: (/** @type {any} */ row) => html`${row.hash}${row.range ? html` <span class="faint">and</span> ${row.range}` : null}` },
    { title: 'Indexes', cell: (/** @type {any} */ row) => row.indexes.join(', ') || html`<span class="faint">–</span>` },
    { title: 'Stream', look: 'tight', cell: (/** @type {any} */ row) => (row.stream ? row.stream.toLowerCase().replaceAll('_', ' ') : html`<span class="faint">–</span>`) },
    { title: 'Expires by', cell: (/** @type {any} */ row) => row.ttl ?? html`<span class="faint">–</span>` },
    { title: 'Created', look: 'tight', cell: (/** @type {any} */ row) => html`<${When} ms=${row.createdMs} />` },
  ];
  return html`<header class="head"><h1>Tables</h1></header><${List} route=${route} name="tables" label="Tables" columns=${columns} keyOf=${(/** @type {any} */ row) => row.name}
    empty=${html`<h2>No table yet</h2><p>Create one with any AWS SDK, with a template, or with <code>statewright aws dynamodb create-table …</code>.</p>`} />`;
}

/** @type {[string, string][]} */
const VIEWS = [['items', 'Items'], ['statement', 'PartiQL'], ['settings', 'Indexes']];

/** @param {{route: import('./route.js').Route, server: any}} props */
function Detail({ route, server }) {
  const { found, problem, again } = useCall('dynamodb', 'DescribeTable', { TableName: route.id }, { every: 5000 });
  const ttl = useCall('dynamodb', 'DescribeTimeToLive', { TableName: route.id });
  const head = html`<div class="crumbs"><a href=${format('tables')}>Tables</a></div>`;
  if (!found) return html`<header class="head">${head}<h1><bdi>${route.id}</bdi></h1></header>${problem ? html`<${Problem} problem=${problem} again=${again} />` : html`<p class="faint">Reading…</p>`}`;
  const table = found.Table;
  const view = VIEWS.some(([key]) => key === route.query.view) ? route.query.view : 'items';
  const lives = ttl.found?.TimeToLiveDescription;
  return html`<header class="head">${head}<div class="title"><h1>${table.TableName}</h1></div>
    <${Facts} facts=${[['Items', count(table.ItemCount)], ['Size', size(table.TableSizeBytes)], ['Status', table.TableStatus.toLowerCase()],
    ['Stream', table.StreamSpecification?.StreamViewType?.toLowerCase().replaceAll('_', ' ')], ['Expires by', lives?.TimeToLiveStatus === 'ENABLED' ? lives.AttributeName : null],
    ['Billing', table.BillingModeSummary?.BillingMode === 'PAY_PER_REQUEST' ? 'on demand' : `${table.ProvisionedThroughput.ReadCapacityUnits} reads, ${table.ProvisionedThroughput.WriteCapacityUnits} writes`]]} /></header>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    <${Tabs} items=${VIEWS} chosen=${view} label="Table" panel="table" onChoose=${(/** @type {string} */ one) => go(format('tables', route.id, { view: one }))} />
    <div id="table" role="tabpanel" class="cat-part" aria-labelledby=${`table-${view}`}>${view === 'items' ? html`<${Items} table=${table} route=${route} server=${server} />`
      : view === 'statement' ? html`<${Statement} table=${table} route=${route} server=${server} />` : html`<${Indexes} table=${table} />`}</div>`;
}

/** @param {{table: any}} props */
function Indexes({ table }) {
  const kind = (/** @type {string} */ words) => (/** @type {any} */ one) => ({ ...one, kind: words });
  const rows = [{ IndexName: '(the table)', KeySchema: table.KeySchema, ItemCount: table.ItemCount, IndexSizeBytes: table.TableSizeBytes, kind: 'table' },
    ...(table.GlobalSecondaryIndexes ?? []).map(kind('global')), ...(table.LocalSecondaryIndexes ?? []).map(kind('local'))];
  const types = Object.fromEntries(table.AttributeDefinitions.map((/** @type {any} */ one) => [one.AttributeName, one.AttributeType]));
  const columns = [
    { title: 'Index', look: 'name', cell: (/** @type {any} */ row) => row.IndexName },
    { title: 'Kind', look: 'tight', cell: (/** @type {any} */ row) => row.kind },
    { title: 'Key', cell: (/** @type {any} */ row) => row.KeySchema.map((/** @type {any} */ one) => html`<div>${one.AttributeName} <span class="faint">${types[one.AttributeName]} ${one.KeyType === 'HASH' ? 'partition' : 'sort'}</span></div>`) },
    { title: 'Projection', cell: (/** @type {any} */ row) => (row.Projection ? `${row.Projection.ProjectionType.toLowerCase().replaceAll('_', ' ')} ${(row.Projection.NonKeyAttributes ?? []).join(', ')}` : '') },
    { title: 'Items', look: 'end', cell: (/** @type {any} */ row) => count(row.ItemCount) },
    { title: 'Size', look: 'end', cell: (/** @type {any} */ row) => size(row.IndexSizeBytes) },
    { title: 'Status', look: 'tight', cell: (/** @type {any} */ row) => (row.IndexStatus ?? '').toLowerCase() },
  ];
  return html`<${Part} title="Indexes"><${Table} label="Indexes" rows=${rows} columns=${columns} keyOf=${(/** @type {any} */ row) => row.IndexName} /><//>`;
}
