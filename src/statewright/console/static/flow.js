// The flow map: what starts what, drawn as the server has placed it, and the same as a table.

import { html } from './vendor.js';
import { plural } from './format.js';
import { ICONS } from './flow_icons.js';
import { placeOf } from './links.js';
import { Filter, Part, Table, useLast } from './lists.js';
import { go } from './navigation.js';
import { Problem } from './parts.js';
import { format } from './route.js';

/** @param {{route: import('./route.js').Route, server: any}} props */
export function Page({ route }) {
  const { q = '' } = route.query;
  const { found, problem, again } = useLast('flow', { q }, 3000);
  return html`<header class="head"><h1>Flow</h1></header>
    <div class="cat-filters"><${Filter} value=${q} label="Only around a name" onFilter=${(/** @type {string} */ text) => go(format('flow', '', { q: text || null }), true)} />
      ${found ? html`<span class="faint">${plural(found.nodes.length, 'resource')}${found.more ? `; ${found.more} more do not fit: choose a name` : ''}${found.alone ? `; ${plural(found.alone, 'resource that leads', 'resources that lead')} nowhere ${found.alone === 1 ? 'is' : 'are'} left out` : ''}</span>` : null}</div>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    ${!found ? (problem ? null : html`<p class="faint">Reading…</p>`) : !found.nodes.length
      ? html`<div class="empty card">${q ? html`<p>Nothing here matches. <a href=${format('flow')}>Show all</a></p>` : html`<h2>Nothing leads anywhere yet</h2><p>Schedules, rules, event source mappings, subscriptions and the tasks of state machines stand here once they name each other. Deploy a project with <code>statewright deploy</code>.</p>`}</div>`
      : html`<${Drawing} found=${found} /><${Pairs} found=${found} />`}`;
}

/** @param {{found: any}} props */
function Drawing({ found }) {
  const { drawing } = found;
  const nodes = new Map(found.nodes.map((/** @type {any} */ one) => [one.id, one]));
  return html`<div class="card cat-map" role="region" aria-label="Map" tabindex="0"><svg width=${drawing.width} height=${drawing.height} viewBox=${`0 0 ${drawing.width} ${drawing.height}`} role="group" aria-label="What starts what">
    ${drawing.edges.map((/** @type {any} */ edge) => html`<g key=${`${edge.source} ${edge.target} ${edge.kind}`} class=${edge.kind === 'catch' ? 'cat-edge cat-dead' : 'cat-edge'}><path d=${edge.line} />${edge.arrow ? html`<path class="cat-arrow" d=${edge.arrow} />` : null}</g>`)}
    ${drawing.states.map((/** @type {any} */ shape) => html`<${Shape} key=${shape.id} shape=${shape} node=${nodes.get(shape.id)} />`)}</svg></div>`;
}

/** @param {{shape: any, node: any}} props */
function Shape({ shape, node }) {
  if (!node || !shape.outline) return null;
  const [x, y, width, height, radius] = shape.outline;
  const [tx, ty, size, , round] = shape.tile;
  const { address } = placeOf(node.arn);
  const scale = size / 16 / 1.5;
  const inner = html`<rect class="cat-frame" x=${x} y=${y} width=${width} height=${height} rx=${radius} /><rect class="cat-tile" x=${tx} y=${ty} width=${size} height=${size} rx=${round} />
    <g class="icon" transform=${`translate(${tx + size / 6} ${ty + size / 6}) scale(${scale})`}><path d=${ICONS[node.kind]} /></g>
    ${shape.names.map((/** @type {any} */ [words, at, line]) => html`<text class="cat-name" x=${at} y=${line}>${words}</text>`)}
    <text class="cat-second" x=${shape.second[1]} y=${shape.second[2]}>${node.figure || node.kind}</text>`;
  const label = `${node.kind} ${node.name}${node.figure ? `, ${node.figure}` : ''}`;
  const look = `cat-node ${node.tone ? `cat-${node.tone}` : ''}`;
  return address ? html`<a href=${address} class=${look} aria-label=${label}>${inner}</a>` : html`<g class=${look} role="img" aria-label=${label}>${inner}</g>`;
}

/** @param {{found: any}} props */
function Pairs({ found }) {
  const nodes = new Map(found.nodes.map((/** @type {any} */ one) => [one.id, one]));
  const end = (/** @type {string} */ id) => {
    const node = /** @type {any} */ (nodes.get(id));
    const { address } = placeOf(node.arn);
    return html`<span class="faint">${node.kind}</span> ${address ? html`<a class="link" href=${address}><bdi>${node.name}</bdi></a>` : html`<bdi>${node.name}</bdi>`} ${node.figure ? html`<span class="faint">${node.figure}</span>` : null}`;
  };
  const columns = [
    { title: 'From', cell: (/** @type {any} */ row) => end(row.source) },
    { title: 'Leads to', cell: (/** @type {any} */ row) => html`${end(row.target)}${row.kind === 'catch' ? html` <span class="badge t-caught">dead letters</span>` : null}` },
  ];
  return html`<${Part} title="The same as a table"><${Table} label="Pairs" rows=${found.pairs.slice(0, 200)} columns=${columns} keyOf=${(/** @type {any} */ row) => `${row.source} ${row.target} ${row.kind}`} />${found.pairs.length > 200 ? html`<p class="faint">The first 200 of ${found.pairs.length} are shown.</p>` : null}<//>`;
}
