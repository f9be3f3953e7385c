// Items of a table: a query or a scan, page by page, and one item to look at, change or delete.

import { html, useEffect, useState } from './vendor.js';
import { call } from './api.js';
import { Confirm, Dialog, useAction } from './dialogs.js';
import { COMPARISONS, TYPES, columnsOf, isHidden, itemIn, keyConditions, keyOf, plainItem, textOf, typeOf, unchanged } from './items.js';
import { Json } from './json.js';
import { Table } from './lists.js';
import { go } from './navigation.js';
import { Problem, Tabs } from './parts.js';
import { format } from './route.js';
import { useCall } from './use_call.js';

const PAGE = 50;
const COLUMNS = 7;
const CELL = 160;
const VALUE = 20_000;

/** Names and types of the keys of a table or an index. @param {any} table @param {string} index @returns {import('./items.js').Keys} */
function keysOf(table, index) {
  const found = [...(table.GlobalSecondaryIndexes ?? []), ...(table.LocalSecondaryIndexes ?? [])].find((one) => one.IndexName === index) ?? table;
  const named = (/** @type {string} */ kind) => found.KeySchema.find((/** @type {any} */ one) => one.KeyType === kind)?.AttributeName ?? null;
  return { hash: named('HASH'), range: named('RANGE'), types: Object.fromEntries(table.AttributeDefinitions.map((/** @type {any} */ one) => [one.AttributeName, one.AttributeType])) };
}

/** @param {string | undefined} text */
function startOf(text) {
  try {
    return text ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

/** @param {{table: any, route: import('./route.js').Route, server: any}} props */
export function Items({ table, route, server }) {
  const { index = '', pk = '', op = 'eq', sk = '', sk2 = '', after } = route.query;
  const own = keysOf(table, '');
  const tableKeys = [own.hash, ...(own.range ? [own.range] : [])];
  const keys = keysOf(table, index);
  const request = { TableName: table.TableName, Limit: PAGE, ...(index ? { IndexName: index } : {}), ...(after ? { ExclusiveStartKey: startOf(after) } : {}), ...(pk ? keyConditions(keys, { pk, op, sk, sk2 }) : {}) };
  const { found, problem, isBusy, again } = useCall('dynamodb', pk ? 'Query' : 'Scan', request, { keep: true });
  const [dialog, setDialog] = useState(/** @type {any} */ (null));
  const to = (/** @type {Record<string, any>} */ change) => go(format('tables', route.id, { ...route.query, after: null, ...change }));
  const close = () => {
    setDialog(null);
    again();
  };
  return html`<div class="cat-inline"><${Conditions} key=${JSON.stringify(route.query)} table=${table} query=${route.query} onRun=${(/** @type {any} */ given) => (given ? to(given) : again())} />
      ${server?.mayWrite ? html`<div class="actions"><button class="action" onClick=${() => setDialog({ item: null })}>Create item</button></div>` : null}</div>
    ${problem ? html`<${Problem} problem=${problem} again=${again} />` : null}
    ${found ? html`<${Found} items=${found.Items} keys=${[keys.hash, ...(keys.range ? [keys.range] : [])]} onOpen=${(/** @type {any} */ item) => setDialog({ item })}
      words=${pk ? 'No item has this key.' : after ? 'There are no more items.' : 'The table is empty.'} /><p class="faint">${isBusy ? 'Reading…' : `${found.Items.length} of ${found.ScannedCount} items that were read${found.LastEvaluatedKey ? '; there may be more' : ''}`}</p>` : problem ? null : html`<p class="faint">Reading…</p>`}
    ${found && (found.LastEvaluatedKey || after) ? html`<div class="cat-pager">${after ? html`<button class="action" onClick=${() => to({})}>First page</button>` : null}${found.LastEvaluatedKey ? html`<button class="action" onClick=${() => to({ after: JSON.stringify(found.LastEvaluatedKey) })}>Next page</button>` : null}</div>` : null}
    ${dialog ? html`<${ItemDialog} table=${table} keys=${tableKeys} item=${dialog.item} isPart=${Boolean(index)} server=${server} onClose=${close} />` : null}`;
}

/** The form of a query; without a value of the partition key it scans. @param {{table: any, query: Record<string, string>, onRun: (given: any) => void}} props */
function Conditions({ table, query, onRun }) {
  const [given, setGiven] = useState({ index: query.index ?? '', pk: query.pk ?? '', op: query.op ?? 'eq', sk: query.sk ?? '', sk2: query.sk2 ?? '' });
  const keys = keysOf(table, given.index);
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setGiven({ ...given, [name]: event.target.value });
  const indexes = [...(table.GlobalSecondaryIndexes ?? []), ...(table.LocalSecondaryIndexes ?? [])];
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const isSame = Object.entries(given).every(([name, value]) => (query[name] ?? (name === 'op' ? 'eq' : '')) === value) && !query.after;
    onRun(isSame ? null : given);
  };
  return html`<form class="cat-inline" onSubmit=${submit}>
    ${indexes.length ? html`<label>Index<select value=${given.index} onChange=${set('index')}><option value="" selected=${!given.index}>the table</option>${indexes.map((one) => html`<option value=${one.IndexName} selected=${given.index === one.IndexName}>${one.IndexName}</option>`)}</select></label>` : null}
    <label>${keys.hash} (${TYPES[keys.types[keys.hash]]})<input value=${given.pk} placeholder="any: scan" autocomplete="off" spellcheck=${false} onInput=${set('pk')} /></label>
    ${keys.range && given.pk ? html`<label>${keys.range} (${TYPES[keys.types[keys.range]]})<select value=${given.op} aria-label=${`Comparison of ${keys.range}`} onChange=${set('op')}>${Object.entries(COMPARISONS).map(([key, [words]]) => html`<option value=${key} selected=${key === given.op}>${words}</option>`)}</select></label>
      <label>Value<input value=${given.sk} placeholder="any" autocomplete="off" spellcheck=${false} onInput=${set('sk')} /></label>${given.op === 'between' ? html`<label>And<input value=${given.sk2} autocomplete="off" spellcheck=${false} onInput=${set('sk2')} /></label>` : null}` : null}
    <button class="action primary">${given.pk ? 'Query' : 'Scan'}</button></form>`;
}

/** A table of items. @param {{items: import('./items.js').Item[], keys: string[], words: string, onOpen: (item: import('./items.js').Item) => void}} props */
export function Found({ items, keys, words, onOpen }) {
  if (!items.length) return html`<div class="empty card"><p>${words}</p></div>`;
  const { names, more } = columnsOf(items, keys, COLUMNS);
  const columns = names.map((name, place) => ({
    title: name.slice(0, 60),
    look: place ? '' : 'name',
    cell: (/** @type {import('./items.js').Item} */ item) => {
      const value = item[name];
      if (!value) return html`<span class="faint">–</span>`;
      const text = textOf(value, CELL);
      const shown = html`<bdi class="cat-cell">${text}</bdi>`;
      return place ? html`${shown}` : html`<button class="link" aria-label=${`Open ${text}`} onClick=${() => onOpen(item)}>${shown}</button>`;
    },
  }));
  if (more) columns.push({ title: `${more} more`, look: 'tight', cell: (item) => html`<span class="faint">${Object.keys(item).filter((name) => !names.includes(name)).length}</span>` });
  return html`<${Table} label="Items" rows=${items} columns=${columns} keyOf=${(/** @type {any} */ _, /** @type {number} */ place) => place} />`;
}

/** @type {[string, string][]} */
const VIEWS = [['attributes', 'Attributes'], ['json', 'JSON'], ['edit', 'Edit']];

/** One item; null for a new one. @param {{table: any, keys: string[], item: import('./items.js').Item | null, isPart: boolean, server: any, onClose: () => void}} props */
export function ItemDialog({ table, keys, item: given, isPart, server, onClose }) {
  const [item, setItem] = useState(isPart ? null : given);
  const [view, setView] = useState(given ? 'attributes' : 'edit');
  const [text, setText] = useState(given ? JSON.stringify(given, null, 2) : template(table, keys));
  const [isDeleting, setDeleting] = useState(false);
  const { isBusy, problem, run } = useAction();
  useEffect(() => {
    // An index may have a part of the item only.
    if (!isPart || !given || keys.some((name) => !given[name])) return;
    run(async () => {
      const { Item: whole } = await call('dynamodb', 'GetItem', { TableName: table.TableName, Key: keyOf(given, keys), ConsistentRead: true });
      if (!whole) throw new Error('The item is not there any more.');
      setItem(whole);
      setText(JSON.stringify(whole, null, 2));
    });
  }, []);
  const shown = item ?? given;
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(async () => {
      if (isHidden(text)) throw new Error('The settings hide a value of this item (•••). Saving it would put ••• in its place; write the value first.');
      const next = itemIn(text);
      if (item && keys.some((name) => JSON.stringify(next[name]) !== JSON.stringify(item[name]))) throw new Error('The key of an item cannot be changed: create another item, and delete this one.');
      await put(() => call('dynamodb', 'PutItem', { TableName: table.TableName, Item: next, ...unchanged(item, keys, next) }), item ? 'The item was changed meanwhile. Close this and open it again.' : 'There is an item with this key already.');
      onClose();
    });
  };
  const remove = async () => {
    if (!item) return;
    await put(() => call('dynamodb', 'DeleteItem', { TableName: table.TableName, Key: keyOf(item, keys), ...unchanged(item, keys) }), 'The item was changed meanwhile, so it was not deleted.');
    onClose();
  };
  const tabs = VIEWS.filter(([key]) => (key === 'edit' ? server?.mayWrite : given));
  return html`<${Dialog} title=${given ? `Item of ${table.TableName}` : `New item of ${table.TableName}`} wide onClose=${onClose}>
    ${given ? html`<${Tabs} items=${tabs} chosen=${view} label="Item" panel="item" onChoose=${setView} />` : null}
    <div id="item" role="tabpanel" aria-label="Item" class="cat-pane" tabindex="0">${view === 'attributes' && shown ? html`<${Attributes} item=${shown} keys=${keys} />` : view === 'json' && shown ? html`<${Json} value=${plainItem(shown)} />`
      : html`<form class="form" onSubmit=${save}><label>The item in DynamoDB's JSON, each value with its type<textarea rows="16" value=${text} spellcheck=${false} onInput=${(/** @type {any} */ event) => setText(event.target.value)}></textarea></label>
        <footer><button class="action primary" disabled=${isBusy || (given && !item)}>${given ? 'Save, if it is unchanged' : 'Create'}</button></footer></form>`}</div>
    ${problem ? html`<p class="fail pad" role="alert">${problem.message}</p>` : null}
    ${given && server?.mayWrite && view !== 'edit' ? html`<div class="form"><footer><button class="action" disabled=${!item} onClick=${() => setDeleting(true)}>Delete</button></footer></div>` : null}
    ${isDeleting ? html`<${Confirm} title="Delete this item?" words=${html`It is deleted if it is still as it is shown: <bdi>${keys.map((name) => textOf(shown?.[name] ?? {}, 200)).join(', ')}</bdi>`} verb="Delete" onConfirm=${remove} onClose=${() => setDeleting(false)} />` : null}<//>`;
}

/** @param {() => Promise<unknown>} action @param {string} words */
async function put(action, words) {
  try {
    await action();
  } catch (problem) {
    if (/** @type {any} */ (problem).code === 'ConditionalCheckFailedException') throw new Error(words);
    throw problem;
  }
}

/** @param {any} table @param {string[]} keys */
function template(table, keys) {
  const { types } = keysOf(table, '');
  return JSON.stringify(Object.fromEntries(keys.map((name) => [name, { [types[name]]: types[name] === 'N' ? '0' : '' }])), null, 2);
}

/** @param {{item: import('./items.js').Item, keys: string[]}} props */
function Attributes({ item, keys }) {
  const names = [...keys, ...Object.keys(item).filter((name) => !keys.includes(name)).sort()];
  return html`<table class="list cat-rows"><thead><tr><th>Attribute</th><th>Type</th><th>Value</th></tr></thead><tbody>${names.filter((name) => item[name]).map((name) => html`<tr key=${name}><td class="name"><bdi>${name}</bdi></td><td class="tight"><span class="faint">${TYPES[typeOf(item[name])] ?? typeOf(item[name])}</span></td><td><bdi class="mono">${textOf(item[name], VALUE)}</bdi></td></tr>`)}</tbody></table>`;
}
