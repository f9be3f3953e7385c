// The page Compare: two runs, the first value and the first transition in which they differ, and their visits in pairs.

import { html, useMemo, useState } from './vendor.js';
import { duration, instant, iso } from './format.js';
import { TintedGraph } from './compare_graph.js';
import { Payloads } from './compare_payloads.js';
import { definitionSides, pairWords, shownPairs, slower, valueWords } from './compare_words.js';
import { StatusBadge, ToneBadge } from './icons.js';
import { go } from './navigation.js';
import { Problem } from './parts.js';
import { useRead } from './reading.js';
import { format } from './route.js';
import { loadStyle } from './styles.js';
import { visitWords } from './what_if_words.js';

const ROWS = 200;

// Graph and payloads look as on the page of an execution.
await loadStyle('run.css');

/** @param {any} props */
export function Page({ route: { query }, server }) {
  const { a = '', b = '' } = query;
  const { found, problem, again } = useRead(a && b ? 'compare' : null, { a, b });
  if (!a || !b) return html`<div class="empty"><h1>Compare two runs</h1><p>Open an execution and press <kbd>c</kbd>. <a href=${format('executions')}>All executions</a></p></div>`;
  if (problem && !found) {
    const mayPass = /** @type {any} */ (problem).code === 'Unreachable' || /** @type {any} */ (problem).status >= 500;
    return mayPass ? html`<${Problem} problem=${problem} again=${again} />` : html`<div class="empty"><h1>These cannot be compared</h1><p>${problem.message}</p><p><a href=${format('executions')}>All executions</a></p></div>`;
  }
  if (!found) return html`<p class="faint pad">Reading…</p>`;
  return html`<${Compared} found=${found} query=${query} icons=${server?.icons} />`;
}

/** @param {any} props */
function Compared({ found, query, icons }) {
  const first = found.parting?.pair ?? found.answer?.pair ?? found.value?.pair ?? 0;
  const chosen = Math.min(found.pairs.length - 1, Math.max(0, query.pair === undefined ? first : Math.round(Number(query.pair)) || 0));
  const choose = (/** @type {number} */ pair) => go(format('compare', '', { ...query, pair }), true);
  const byState = (/** @type {string} */ state) => {
    const place = found.pairs.findIndex((/** @type {any} */ one) => one.state === state);
    if (place >= 0) choose(place);
  };
  const swap = () => go(format('compare', '', { a: query.b, b: query.a }));
  return html`<header class="head"><div class="crumbs"><a href=${format('executions')}>Executions</a><span>/</span>Compare</div>
    <div class="title"><h1>Two runs</h1><button class="action" onClick=${swap}>Swap A and B</button></div>
    <div class="sides"><${Side} name="A" run=${found.a} /><${Side} name="B" run=${found.b} /></div></header>
    <section class="card first" aria-label="What differs first"><${First} found=${found} onPair=${choose} /></section>
    <div class="compared"><${TintedGraph} found=${found} icons=${icons} selected=${found.pairs[chosen]?.state} onSelect=${byState} />
      ${found.pairs.length ? html`<${Payloads} key=${chosen} found=${found} pair=${found.pairs[chosen]} a=${query.a} b=${query.b} />` : null}</div>
    <${Pairs} found=${found} chosen=${chosen} onPair=${choose} />`;
}

/** @param {any} props */
function Side({ name, run }) {
  const took = (run.endedMs ?? run.lastMs ?? run.startedMs) - run.startedMs;
  return html`<div class=${`side ${name.toLowerCase()}`}><span class="letter">${name}</span><div><a href=${format('execution', run.arn)}><bdi>${run.name}</bdi></a> <${StatusBadge} status=${run.status} />
    <p class="faint"><bdi>${run.machine}</bdi>${run.versionArn ? ` version ${run.versionArn.split(':').pop()}` : ''} · <span title=${iso(run.startedMs)}>${instant(run.startedMs)} UTC</span> · ${duration(took)}${run.endedMs === null ? ' so far' : ''} · ${run.events.toLocaleString('en-GB')} events</p>
    ${run.error ? html`<p class="fail"><bdi>${run.error}</bdi></p>` : null}</div></div>`;
}

/** @param {any} props */
function First({ found, onPair }) {
  const line = (/** @type {string} */ words, /** @type {any} */ value) => (value ? html`<div><dt>${words}</dt><dd><button class="link" onClick=${() => onPair(value.pair)}><bdi>${valueWords(value)}</bdi></button>
    <div class="values"><code class="a">${value.a ?? 'nothing'}</code> <code class="b">${value.b ?? 'nothing'}</code></div></dd></div>` : null);
  if (!found.value && !found.parting) return html`<p class="pad"><b>No value differs</b>, and both went the same way.</p>`;
  const sides = definitionSides(found.a, found.b);
  return html`<dl>${line('The first value that differs', found.value)}
    ${found.answer && (found.answer.aEvent !== found.value?.aEvent || found.answer.pair !== found.value?.pair) ? line('The first answer that differs', found.answer) : null}
    <div><dt>Where the ways part</dt><dd>${found.parting ? html`<button class="link" onClick=${() => onPair(found.parting.pair ?? 0)}><bdi>${partingText(found.parting)}</bdi></button>` : 'Nowhere: both went the same way.'}</dd></div>
    ${found.sameDefinition ? null : html`<div><dt>Definitions</dt><dd>They ran on different definitions.${sides ? html` <a href=${format('machine', sides.machine, sides.query)}>What differs in them</a>` : null}</dd></div>`}</dl>`;
}

/** @param {{after: string | null, a: string | null, b: string | null}} parting */
function partingText({ after, a, b }) {
  return `${after === null ? 'At the beginning' : `After ${after}`}: A ${a === null ? 'ends' : `goes to ${a}`}, B ${b === null ? 'ends' : `goes to ${b}`}.`;
}

/** @param {any} props */
function Pairs({ found, chosen, onPair }) {
  const [onlyDiffering, setOnly] = useState(false);
  const [from, setFrom] = useState(0);
  const rows = useMemo(() => shownPairs(found.pairs, onlyDiffering), [found, onlyDiffering]);
  const first = Math.min(from, Math.max(0, rows.length - 1));
  const part = rows.slice(first, first + ROWS);
  return html`<section class="card pairs" aria-label="Visits"><header><h2>Visits</h2><label><input type="checkbox" checked=${onlyDiffering} onChange=${(/** @type {any} */ event) => {
    setOnly(event.target.checked);
    setFrom(0);
  }} /> only those that differ</label>
    ${rows.length > ROWS ? html`<span class="faint">${first + 1}–${first + part.length} of ${rows.length.toLocaleString('en-GB')}</span><button class="action" disabled=${first === 0} onClick=${() => setFrom(Math.max(0, first - ROWS))}>Earlier</button><button class="action" disabled=${first + ROWS >= rows.length} onClick=${() => setFrom(first + ROWS)}>Later</button>` : null}</header>
    <div class="scroll"><table class="list"><thead><tr><th>State</th><th>A</th><th class="end">Took</th><th>B</th><th class="end">Took</th><th>Differs in</th></tr></thead><tbody>
    ${part.map(({ pair, number }) => html`<tr key=${number} class=${number === chosen ? 'on' : ''}><td class=${`name d${Math.min(pair.depth, 6)}`}><button class="link" aria-pressed=${number === chosen} onClick=${() => onPair(number)}><bdi>${pair.state}</bdi></button></td>
      <${Cells} visit=${pair.a} /><${Cells} visit=${pair.b} by=${slower(pair)} /><td>${pairWords(pair)}</td></tr>`)}</tbody></table></div>
    ${found.morePairs ? html`<p class="faint pad">${found.morePairs.toLocaleString('en-GB')} more visits are not shown.</p>` : null}</section>`;
}

/** @param {{visit: import('./compare_words.js').Visit | null, by?: number}} props */
function Cells({ visit, by = 0 }) {
  if (!visit) return html`<td class="faint">not entered</td><td></td>`;
  const [tone, words] = visitWords(visit.status);
  return html`<td><${ToneBadge} tone=${tone} words=${words} />${visit.attempts > 1 ? html` <span class="faint">${visit.attempts} attempts</span>` : null}</td>
    <td class="end">${visit.tookMs === null ? '' : duration(visit.tookMs)}${by ? html` <span class=${by > 0 ? 'c-caught' : 'c-ok'}>${by > 0 ? '+' : '−'}${duration(Math.abs(by))}</span>` : null}</td>`;
}
