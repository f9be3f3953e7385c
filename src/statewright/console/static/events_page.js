// Event buses: what happens on them now, their rules, which rules an event matches, archives and replays.

import { html, useEffect, useRef, useState } from './vendor.js';
import { Refused, act, call, readLines } from './api.js';
import { useAction } from './dialogs.js';
import { plural } from './format.js';
import { Choice, Field, FormDialog } from './forms.js';
import { Icon } from './icons.js';
import { Json } from './json.js';
import { Arn } from './links.js';
import { Filter, List, Table } from './lists.js';
import { go } from './navigation.js';
import { Problem, Tabs } from './parts.js';
import { useRead } from './reading.js';
import { format } from './route.js';
import { NOTHING, added } from './tail.js';
import { useCall } from './use_call.js';
import { jsonProblem } from './values.js';
import { Instant, When } from './when.js';

/** @type {[string, string][]} */
const VIEWS = [['live', 'Live'], ['rules', 'Rules'], ['match', 'Which rules match'], ['archives', 'Archives']];

/** @param {{route: import('./route.js').Route, server: any}} props */
export function Page({ route, server }) {
  const { found, problem, again } = useRead('buses', {}, { every: 5000 });
  const [isOpen, setOpen] = useState(false);
  const view = VIEWS.some(([key]) => key === route.query.view) ? route.query.view : 'live';
  const bus = route.query.bus ?? '';
  const to = (/** @type {Record<string, any>} */ change, replace = false) => go(format('events', '', { ...route.query, ...change }), replace);
  const names = (found?.rows ?? []).map((/** @type {any} */ one) => one.name);
  return html`<header class="head"><div class="title"><h1>Events</h1>${server?.mayWrite ? html`<div class="actions"><button class="action primary" onClick=${() => setOpen(true)}>Put an event</button></div>` : null}</div></header>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    <${Tabs} items=${VIEWS} chosen=${view} label="Events" panel="bus" onChoose=${(/** @type {string} */ one) => to({ view: one, q: null, cursor: null })} />
    <div id="bus" role="tabpanel" class="cat-part" aria-labelledby=${`bus-${view}`}>
      ${view === 'archives' ? html`<${Archives} />` : html`<div class="cat-filters"><label>Bus <select value=${bus || (view === 'live' ? '' : 'default')} onChange=${(/** @type {any} */ event) => to({ bus: event.target.value || null, cursor: null })}>
        ${view === 'live' ? html`<option value="" selected=${!bus}>all</option>` : null}${names.map((/** @type {string} */ name) => html`<option value=${name} selected=${name === (bus || (view === 'live' ? '' : 'default'))}>${name}</option>`)}</select></label>
        ${view === 'live' ? html`<${Filter} value=${route.query.source ?? ''} label="Source has" onFilter=${(/** @type {string} */ text) => to({ source: text || null }, true)} /><${Filter} value=${route.query.type ?? ''} label="Detail type has" onFilter=${(/** @type {string} */ text) => to({ type: text || null }, true)} /><${Filter} value=${route.query.pattern ?? ''} label="Event pattern, as of a rule" onFilter=${(/** @type {string} */ text) => to({ pattern: text || null }, true)} />` : null}</div>
        ${view === 'live' ? html`<${Live} query=${{ bus, source: route.query.source ?? '', type: route.query.type ?? '', pattern: route.query.pattern ?? '' }} />` : view === 'rules' ? html`<${Rules} route=${route} bus=${bus || 'default'} server=${server} />` : html`<${Match} bus=${bus || 'default'} />`}`}</div>
    ${isOpen ? html`<${Put} buses=${names} bus=${bus || 'default'} onClose=${() => setOpen(false)} />` : null}`;
}

const AGAIN_MS = 1000;

/** Events as they come, while the page is visible. @param {{query: Record<string, string>}} props */
function Live({ query }) {
  const [tail, setTail] = useState(NOTHING);
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  const [isPaused, setPaused] = useState(false);
  const [open, setOpen] = useState(0);
  const held = useRef(NOTHING);
  const key = JSON.stringify(query);
  useEffect(() => {
    held.current = NOTHING;
    setTail(NOTHING);
  }, [key]);
  useEffect(() => {
    let stop = new AbortController();
    let timer = 0;
    const watch = async () => {
      clearTimeout(timer);
      stop.abort();
      if (document.hidden) return;
      stop = new AbortController();
      const { signal } = stop;
      try {
        await readLines('bus/tap', query, (line) => {
          setProblem(null);
          held.current = added(held.current, line);
          if (!pause.current) setTail(held.current);
        }, signal);
      } catch (failure) {
        if (signal.aborted) return;
        setProblem(/** @type {Error} */ (failure));
        if (failure instanceof Refused && failure.status >= 400 && failure.status < 500) return;
      }
      if (!signal.aborted) timer = setTimeout(watch, AGAIN_MS);
    };
    watch();
    document.addEventListener('visibilitychange', watch);
    return () => {
      clearTimeout(timer);
      stop.abort();
      document.removeEventListener('visibilitychange', watch);
    };
  }, [key]);
  const pause = useRef(false);
  const toggle = () => {
    pause.current = !isPaused;
    setPaused(!isPaused);
    if (isPaused) setTail(held.current);
  };
  return html`<div class="cat-inline"><button class="action" aria-pressed=${isPaused} onClick=${toggle}><${Icon} name=${isPaused ? 'play' : 'pause'} size=${12} /> ${isPaused ? 'Go on' : 'Pause'}</button>
      <span class="faint" aria-live="polite">${plural(tail.count, 'event')} since this page watches${tail.dropped ? `; the last ${tail.rows.length} are shown` : ''}${tail.more ? `; ${plural(tail.more, 'more event')} not shown` : ''}</span></div>
    ${problem ? html`<p class="banner fail" role="alert">${problem.message}</p>` : null}
    ${tail.rows.length ? html`<div class="card scroll cat-rows" role="region" aria-label="Events" tabindex="0"><table class="list"><thead><tr><th class="tight">When</th><th>Source</th><th>Detail type</th><th>Bus</th><th>Detail</th></tr></thead>
      <tbody>${tail.rows.map((row) => html`<${Seen} key=${row.number} row=${row} isOpen=${open === row.number} onOpen=${() => setOpen(open === row.number ? 0 : row.number)} />`)}</tbody></table></div>`
      : html`<div class="empty card"><h2>Nothing yet</h2><p>Events appear here as they are put on a bus. Put one above, or with <code>statewright aws events put-events …</code>. Executions that start and end are events, too.</p></div>`}`;
}

/** @param {{row: import('./tail.js').Seen, isOpen: boolean, onOpen: () => void}} props */
function Seen({ row, isOpen, onOpen }) {
  const { event } = row;
  return html`<tr><td class="tight"><${When} ms=${row.atMs} /></td><td><button class="link" aria-expanded=${isOpen} onClick=${onOpen}><bdi>${event.source}</bdi></button></td><td><bdi>${event['detail-type']}</bdi></td><td class="tight">${row.bus}</td>
      <td><bdi class="cat-cell mono">${row.isCut ? '(long: not sent)' : JSON.stringify(event.detail).slice(0, 200)}</bdi></td></tr>
    ${isOpen ? html`<tr><td colspan="5"><div class="cat-pane" role="region" aria-label="The event" tabindex="0"><${Json} value=${event} /></div></td></tr>` : null}`;
}

/** @param {{route: import('./route.js').Route, bus: string, server: any}} props */
function Rules({ route, bus, server }) {
  const { isBusy, problem, run } = useAction();
  const columns = [
    { title: 'Rule', look: 'name', cell: (/** @type {any} */ row) => html`<bdi>${row.name}</bdi>${row.description ? html`<div class="faint">${row.description}</div>` : null}` },
    { title: 'State', look: 'tight', cell: (/** @type {any} */ row) => (row.state === 'DISABLED' ? html`<span class="badge t-idle">Disabled</span>` : html`<span class="badge t-ok">Enabled</span>`) },
    { title: 'Pattern or schedule', cell: (/** @type {any} */ row) => html`${row.pattern ? html`<code class="cat-cell" title=${row.pattern.slice(0, 2000)}>${row.pattern.slice(0, 300)}</code>` : null}${row.expression ? html`<a class="link" href=${format('schedules', `rule:${bus}/${row.name}`)}>${row.expression}</a>` : null}` },
    { title: 'Targets', cell: (/** @type {any} */ row) => row.targets.map((/** @type {any} */ one) => html`<div><${Arn} arn=${one.arn} /></div>`) },
    { title: 'Last delivery', cell: (/** @type {any} */ row) => (row.last ? html`<span class=${row.last.what === 'delivered' ? '' : 'fail'} title=${row.last.message ?? ''}>${row.last.what}${row.last.error ? `: ${row.last.error}` : ''}</span> <${When} ms=${row.last.atMs} />` : html`<span class="faint">–</span>`) },
    { title: '', look: 'tight', cell: (/** @type {any} */ row) => (server?.mayWrite && !row.isManaged ? html`<div class="cat-rowactions"><button class="action cat-small" disabled=${isBusy} onClick=${() => run(async () => { await call('events', row.state === 'DISABLED' ? 'EnableRule' : 'DisableRule', { Name: row.name, EventBusName: bus }); })}>${row.state === 'DISABLED' ? 'Enable' : 'Disable'}</button></div>` : null) },
  ];
  return html`${problem ? html`<p class="banner fail" role="alert">${problem.message}</p>` : null}<${List} route=${{ ...route, query: { ...route.query } }} name="bus/rules" label="Rules" columns=${columns} keyOf=${(/** @type {any} */ row) => row.name} extra=${{ bus }}
    empty=${html`<h2>No rule on this bus</h2><p>Events on it reach no one. Create a rule with <code>statewright aws events put-rule …</code>.</p>`} />`;
}

const EXAMPLE = JSON.stringify({ source: 'shop', 'detail-type': 'OrderPlaced', detail: { total: 150 } }, null, 2);

/** @param {{bus: string}} props */
function Match({ bus }) {
  const [text, setText] = useState(EXAMPLE);
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const { isBusy, problem, run } = useAction();
  const odd = jsonProblem(text);
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(async () => {
      setAnswer(null);
      setAnswer(await act('bus/match', { bus, event: text }));
    });
  };
  const words = (/** @type {boolean | null} */ matches) => (matches === null ? 'takes too much work' : matches ? 'matches' : 'does not match');
  return html`<form class="form card" onSubmit=${submit}><label>Event<textarea rows="10" value=${text} spellcheck=${false} onInput=${(/** @type {any} */ event) => setText(event.target.value)}></textarea></label>${odd ? html`<p class="faint">${odd}</p>` : null}
      <footer><button class="action primary" disabled=${isBusy || Boolean(odd)}>Which rules match?</button></footer></form>
    ${problem ? html`<p class="banner fail" role="alert">${problem.message}</p>` : null}
    <div aria-live="polite">${answer ? html`<p>${plural(answer.rules.filter((/** @type {any} */ one) => one.matches).length, 'rule')} of ${answer.rules.length} ${answer.rules.filter((/** @type {any} */ one) => one.matches).length === 1 ? 'matches' : 'match'} on bus ${bus}.</p>` : null}</div>
    ${answer?.rules.length ? html`<${Table} label="Rules" rows=${answer.rules} keyOf=${(/** @type {any} */ row) => row.name} columns=${[
      { title: 'Rule', look: 'name', cell: (/** @type {any} */ row) => html`<bdi>${row.name}</bdi>` },
      { title: 'Result', cell: (/** @type {any} */ row) => html`<span class=${`badge t-${row.matches ? 'ok' : 'idle'}`}><${Icon} name=${row.matches ? 'check' : 'circle'} size=${12} />${words(row.matches)}</span>${row.matches && row.state === 'DISABLED' ? html` <span class="faint">but the rule is disabled</span>` : null}` },
      { title: 'Targets', look: 'end', cell: (/** @type {any} */ row) => row.targets },
    ]} />` : null}`;
}

/** @param {{buses: string[], bus: string, onClose: () => void}} props */
function Put({ buses, bus, onClose }) {
  const [on, setOn] = useState(bus);
  const [source, setSource] = useState('console');
  const [type, setType] = useState('Test');
  const [detail, setDetail] = useState('{}');
  const odd = jsonProblem(detail);
  const put = async () => {
    const { Entries: [answer] } = await call('events', 'PutEvents', { Entries: [{ EventBusName: on, Source: source, DetailType: type, Detail: detail }] });
    if (answer.ErrorCode) throw new Error(answer.ErrorMessage);
  };
  return html`<${FormDialog} title="Put an event" verb="Put" isReady=${!odd} onSubmit=${put} onClose=${onClose}>
    <${Choice} label="Bus" value=${on} onChange=${setOn} options=${(buses.length ? buses : [bus]).map((name) => [name, name])} />
    <${Field} label="Source" value=${source} onInput=${setSource} needed /><${Field} label="Detail type" value=${type} onInput=${setType} needed />
    <${Field} label="Detail (JSON)" value=${detail} onInput=${setDetail} rows=${8} hint=${odd} needed /><//>`;
}

function Archives() {
  const archives = useCall('events', 'ListArchives', { Limit: 100 }, { every: 5000 });
  const replays = useCall('events', 'ListReplays', { Limit: 100 }, { every: 5000 });
  const problem = archives.problem ?? replays.problem;
  if (problem) return html`<${Problem} problem=${problem} again=${() => { archives.again(); replays.again(); }} />`;
  if (!archives.found || !replays.found) return html`<p class="faint">Reading…</p>`;
  const kept = archives.found.Archives;
  const done = replays.found.Replays;
  const name = (/** @type {string} */ member) => ({ title: 'Name', look: 'name', cell: (/** @type {any} */ row) => html`<bdi>${row[member]}</bdi>` });
  return html`<h2>Archives</h2>${kept.length ? html`<${Table} label="Archives" rows=${kept} keyOf=${(/** @type {any} */ row) => row.ArchiveName} columns=${[name('ArchiveName'),
      { title: 'Of', cell: (/** @type {any} */ row) => html`<${Arn} arn=${row.EventSourceArn} />` }, { title: 'State', look: 'tight', cell: (/** @type {any} */ row) => row.State.toLowerCase() },
      { title: 'Events', look: 'end', cell: (/** @type {any} */ row) => row.EventCount }, { title: 'Kept', look: 'tight', cell: (/** @type {any} */ row) => (row.RetentionDays ? `${row.RetentionDays} days` : 'for good') }]} />`
      : html`<div class="empty card"><p>No bus keeps its events. Create an archive with <code>statewright aws events create-archive …</code>.</p></div>`}
    <h2>Replays</h2>${done.length ? html`<${Table} label="Replays" rows=${done} keyOf=${(/** @type {any} */ row) => row.ReplayName} columns=${[name('ReplayName'),
      { title: 'Of', cell: (/** @type {any} */ row) => html`<${Arn} arn=${row.EventSourceArn} />` }, { title: 'State', look: 'tight', cell: (/** @type {any} */ row) => row.State.toLowerCase() },
      { title: 'Started', look: 'tight', cell: (/** @type {any} */ row) => (row.ReplayStartTime ? html`<${Instant} ms=${row.ReplayStartTime} />` : '') }, { title: 'Reason', cell: (/** @type {any} */ row) => row.StateReason ?? '' }]} />`
      : html`<p class="faint">Nothing was replayed yet.</p>`}`;
}
