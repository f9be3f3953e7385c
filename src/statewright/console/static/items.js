// Items of tables, as DynamoDB's JSON has them: as text with exact numbers, as plain values, and the requests about them.

import { HIDDEN } from './json_text.js';

/** @typedef {Record<string, any>} Attribute  one member, named by its type @typedef {Record<string, Attribute>} Item */

/** @type {Record<string, string>} */
export const TYPES = { S: 'text', N: 'number', B: 'bytes', BOOL: 'true or false', NULL: 'null', M: 'map', L: 'list', SS: 'set of texts', NS: 'set of numbers', BS: 'set of bytes' };

/** A hidden value has no type. @param {Attribute | string} attribute */
export function typeOf(attribute) {
  if (typeof attribute === 'string') return 'hidden';
  return Object.keys(attribute)[0] ?? 'NULL';
}

/** A value as text, with all digits of its numbers; at most about `most` characters. @param {Attribute} attribute @param {number} [most] @returns {string} */
export function textOf(attribute, most = Infinity) {
  const parts = /** @type {string[]} */ ([]);
  write(attribute, { left: most, put: (text) => parts.push(text) }, true);
  const text = parts.join('');
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** @param {Attribute} attribute @param {{left: number, put: (text: string) => void}} out @param {boolean} isTop */
function write(attribute, out, isTop) {
  if (out.left < 0) return;
  const put = (/** @type {string} */ text) => {
    out.left -= text.length;
    out.put(text);
  };
  if (typeof attribute === 'string') {
    put(attribute);
    return;
  }
  const [type, value] = Object.entries(attribute)[0] ?? ['NULL', true];
  const list = (/** @type {string} */ first, /** @type {string} */ last, /** @type {any[]} */ items, /** @type {(item: any) => void} */ one) => {
    put(first);
    for (let place = 0; place < items.length && out.left >= 0; place += 1) {
      if (place) put(', ');
      one(items[place]);
    }
    put(last);
  };
  if (type === 'S') put(isTop ? value : JSON.stringify(value));
  else if (type === 'N') put(value);
  else if (type === 'B') put(isTop ? value : `b"${value}"`);
  else if (type === 'BOOL') put(String(value));
  else if (type === 'NULL') put('null');
  else if (type === 'L') list('[', ']', value, (one) => write(one, out, false));
  else if (type === 'M') list('{', '}', Object.entries(value), ([name, one]) => { put(`${JSON.stringify(name)}: `); write(one, out, false); });
  else if (type === 'SS') list('{', '}', value, (one) => put(JSON.stringify(one)));
  else if (type === 'NS') list('{', '}', value, (one) => put(one));
  else if (type === 'BS') list('{', '}', value, (one) => put(`b"${one}"`));
  else put(JSON.stringify(value));
}

/** A value without its types. A number that JavaScript would change stays a text. @param {Attribute} attribute @returns {unknown} */
export function plainOf(attribute) {
  if (typeof attribute === 'string') return attribute;
  const [type, value] = Object.entries(attribute)[0] ?? ['NULL', true];
  if (type === 'N') return numberOf(value);
  if (type === 'NULL') return null;
  if (type === 'L') return value.map(plainOf);
  if (type === 'M') return plainItem(value);
  if (type === 'NS') return value.map(numberOf);
  return value;
}

/** @param {Item} item */
export function plainItem(item) {
  return Object.fromEntries(Object.entries(item).map(([name, one]) => [name, plainOf(one)]));
}

/** @param {string} text @returns {number | string} */
function numberOf(text) {
  const value = Number(text);
  return String(value) === text ? value : text;
}

/** Names of attributes for the columns of a table: the keys first, then the most frequent. @param {Item[]} items @param {string[]} keys @param {number} most */
export function columnsOf(items, keys, most) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const item of items) for (const name of Object.keys(item)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const rest = [...counts].filter(([name]) => !keys.includes(name)).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name]) => name);
  const kept = keys.filter((name) => counts.has(name) || !items.length);
  return { names: [...kept, ...rest].slice(0, most), more: Math.max(0, kept.length + rest.length - most) };
}

/** Whether the settings hide a value of it, or a part of one. @param {unknown} value */
export function isHidden(value) {
  return JSON.stringify(value ?? null).includes(HIDDEN);
}

/** The key of an item. @param {Item} item @param {string[]} keys @returns {Item} */
export function keyOf(item, keys) {
  return Object.fromEntries(keys.map((name) => [name, item[name]]));
}

const MOST_CHECKED = 200;

/**
 * The condition that an item is still what it was, as far as it is shown, and that attributes that `next` adds are
 * absent.
 * @param {Item | null} before  null for an item that must not exist @param {string[]} keys @param {Item} [next]
 */
export function unchanged(before, keys, next = {}) {
  /** @type {Record<string, string>} */
  const names = {};
  /** @type {Item} */
  const values = {};
  const parts = /** @type {string[]} */ ([]);
  if (!before) {
    names['#k'] = keys[0];
    return { ConditionExpression: 'attribute_not_exists(#k)', ExpressionAttributeNames: names };
  }
  const all = Object.entries(before).filter(([, value]) => !isHidden(value));
  const added = Object.keys(next).filter((name) => !Object.hasOwn(before, name));
  if (all.length + added.length > MOST_CHECKED) throw new Error(`It has over ${MOST_CHECKED} attributes, so it cannot be checked that nothing else changes it meanwhile.`);
  all.forEach(([name, value], place) => {
    names[`#a${place}`] = name;
    values[`:v${place}`] = value;
    parts.push(`#a${place} = :v${place}`);
  });
  added.forEach((name, place) => {
    names[`#n${place}`] = name;
    parts.push(`attribute_not_exists(#n${place})`);
  });
  return { ConditionExpression: parts.join(' AND '), ExpressionAttributeNames: names, ExpressionAttributeValues: values };
}

/** @typedef {{hash: string, range: string | null, types: Record<string, string>}} Keys */

/** Conditions on the sort key, by their names in the address. @type {Record<string, [string, (name: string, a: string, b: string) => string]>} */
export const COMPARISONS = {
  eq: ['=', (name, a) => `${name} = ${a}`], lt: ['<', (name, a) => `${name} < ${a}`], le: ['≤', (name, a) => `${name} <= ${a}`],
  gt: ['>', (name, a) => `${name} > ${a}`], ge: ['≥', (name, a) => `${name} >= ${a}`],
  begins: ['begins with', (name, a) => `begins_with(${name}, ${a})`], between: ['between', (name, a, b) => `${name} BETWEEN ${a} AND ${b}`],
};

/** A key's conditions as members of Query. @param {Keys} keys @param {{pk: string, op?: string, sk?: string, sk2?: string}} given */
export function keyConditions(keys, { pk, op = 'eq', sk = '', sk2 = '' }) {
  const typed = (/** @type {string} */ name, /** @type {string} */ text) => ({ [keys.types[name] ?? 'S']: text });
  /** @type {Record<string, string>} */
  const names = { '#h': keys.hash };
  /** @type {Item} */
  const values = { ':h': typed(keys.hash, pk) };
  let expression = '#h = :h';
  const compare = Object.hasOwn(COMPARISONS, op) ? COMPARISONS[op] : COMPARISONS.eq;
  if (keys.range && sk) {
    names['#r'] = keys.range;
    values[':r'] = typed(keys.range, sk);
    if (op === 'between') values[':s'] = typed(keys.range, sk2);
    expression += ` AND ${compare[1]('#r', ':r', ':s')}`;
  }
  return { KeyConditionExpression: expression, ExpressionAttributeNames: names, ExpressionAttributeValues: values };
}

/** An item as it was typed. @param {string} text @returns {Item} */
export function itemIn(text) {
  const found = JSON.parse(text);
  if (typeof found !== 'object' || found === null || Array.isArray(found)) throw new Error('An item is a JSON object.');
  for (const [name, value] of Object.entries(found)) {
    const type = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : [];
    if (type.length !== 1 || !Object.hasOwn(TYPES, type[0])) throw new Error(`${name.slice(0, 60)} needs its type: {"S": "text"}, {"N": "1"}, {"BOOL": true}, …`);
  }
  return found;
}
