// APIs: the list, and one with its stages and routes.

import { html } from './vendor.js';
import { count } from './format.js';
import { Arn } from './links.js';
import { Facts, List, Part, Table } from './lists.js';
import { Problem } from './parts.js';
import { useRead } from './reading.js';
import { format } from './route.js';
import { useCall } from './use_call.js';
import { When } from './when.js';

/** @param {{route: import('./route.js').Route, server: any}} props */
export function Page({ route }) {
  if (route.id) return html`<${Detail} id=${route.id} />`;
  const columns = [
    { title: 'Name', look: 'name', cell: (/** @type {any} */ row) => html`<a href=${format('apis', row.id)}><bdi>${row.name}</bdi></a> <span class="faint">${row.id}</span>` },
    { title: 'Kind', look: 'tight', cell: (/** @type {any} */ row) => row.protocol },
    { title: 'Routes', look: 'end', cell: (/** @type {any} */ row) => count(row.routes) },
    { title: 'Stages', cell: (/** @type {any} */ row) => row.stages.join(', ') },
    { title: 'Address', cell: (/** @type {any} */ row) => html`<code>${row.address}</code>` },
    { title: 'Created', look: 'tight', cell: (/** @type {any} */ row) => html`<${When} ms=${row.createdMs} />` },
  ];
  return html`<header class="head"><h1>APIs</h1></header><${List} route=${route} name="apis" label="APIs" columns=${columns} keyOf=${(/** @type {any} */ row) => row.id} every=${5000}
    empty=${html`<h2>No API yet</h2><p>Deploy a project with one, or create it with <code>statewright aws apigatewayv2 create-api …</code>.</p>`} />`;
}

/** @param {{id: string}} props */
function Detail({ id }) {
  const { found: page, problem, again } = useRead('apis', { q: id });
  const api = page?.rows.find((/** @type {any} */ row) => row.id === id);
  const isHttp = api?.protocol === 'HTTP';
  const http = useCall('apigatewayv2', isHttp ? 'GetRoutes' : null, { ApiId: id, MaxResults: '100' });
  const integrations = useCall('apigatewayv2', isHttp ? 'GetIntegrations' : null, { ApiId: id, MaxResults: '100' });
  const rest = useCall('apigateway', api && !isHttp ? 'GetResources' : null, { restApiId: id, limit: 100, embed: ['methods'] });
  const head = html`<div class="crumbs"><a href=${format('apis')}>APIs</a></div>`;
  if (!api) return html`<header class="head">${head}<h1>${id}</h1></header>${problem ? html`<${Problem} problem=${problem} again=${again} />` : page ? html`<div class="empty card"><p>There is no API ${id}. <a href=${format('apis')}>All APIs</a></p></div>` : html`<p class="faint">Reading…</p>`}`;
  const trouble = http.problem ?? rest.problem;
  const rows = isHttp ? httpRoutes(http.found?.Items ?? [], integrations.found?.Items ?? []) : restRoutes(rest.found?.items ?? []);
  const columns = [
    { title: 'Method', look: 'tight', cell: (/** @type {any} */ row) => html`<code>${row.method}</code>` },
    { title: 'Path', look: 'name', cell: (/** @type {any} */ row) => html`<bdi>${row.path}</bdi>` },
    { title: 'Integration', cell: (/** @type {any} */ row) => (row.arn ? html`<${Arn} arn=${row.arn} />` : html`<bdi>${row.to}</bdi>`) },
    { title: 'Authorization', look: 'tight', cell: (/** @type {any} */ row) => row.auth ?? 'NONE' },
  ];
  return html`<header class="head">${head}<div class="title"><h1><bdi>${api.name}</bdi></h1></div>
    <${Facts} facts=${[['Kind', api.protocol], ['Id', html`<code>${api.id}</code>`], ['Address', html`<code>${api.address}</code>`], ['Stages', api.stages.join(', ') || 'none']]} /></header>
    ${trouble ? html`<p class="banner fail" role="alert">${trouble.message}</p>` : null}
    <${Part} title="Routes">${rows.length ? html`<${Table} label="Routes" rows=${rows} columns=${columns} keyOf=${(/** @type {any} */ row) => `${row.method} ${row.path}`} />` : html`<div class="empty card"><p>It has no routes.</p></div>`}
      ${http.found?.NextToken || rest.found?.position ? html`<p class="faint">The first hundred are shown.</p>` : null}<//>`;
}

/** @param {any[]} routes @param {any[]} integrations */
function httpRoutes(routes, integrations) {
  const byId = new Map(integrations.map((one) => [one.IntegrationId, one]));
  return routes.map((route) => {
    const [method, path = ''] = route.RouteKey.split(' ');
    const to = byId.get((route.Target ?? '').replace('integrations/', ''));
    const uri = to?.IntegrationUri ?? to?.IntegrationSubtype ?? '';
    return { method: path ? method : 'any', path: path || method, to: uri || to?.IntegrationType || 'none', arn: uri.startsWith('arn:') ? uri : null, auth: route.AuthorizationType };
  });
}

/** @param {any[]} resources */
function restRoutes(resources) {
  return resources.flatMap((resource) => Object.entries(resource.resourceMethods ?? {}).map(([method, one]) => {
    const uri = one.methodIntegration?.uri ?? '';
    const inner = /functions\/(arn:[^/]+)\/invocations/.exec(uri);
    return { method, path: resource.path, to: uri || one.methodIntegration?.type || 'none', arn: inner ? inner[1] : null, auth: one.authorizationType };
  }));
}
