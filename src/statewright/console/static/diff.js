// JSON as lines, and the difference of two values as lines. Pure.

/** @typedef {{indent: number, text: string, tone: 'key' | 'text' | 'number' | 'plain', path: string, mark: '' | '+' | '-', name?: string}} Line */

/** What browsers have that keep the digits of a number. @type {any} */
const JSON_TEXT = JSON;
const LONG_NUMBER = /(?<![\w"])-?\d{16,}(?![\w"])/;

/** A text as the value that it is the JSON of. Numbers that JavaScript cannot keep have their digits; where a browser cannot do that, the whole text stays one. @param {string} text @returns {unknown} */
export function parsed(text) {
  try {
    if (!LONG_NUMBER.test(text)) return JSON.parse(text);
    return JSON_TEXT.rawJSON ? JSON_TEXT.parse(text, kept) : text;
  } catch {
    return text;
  }
}

/** @param {string} _key @param {unknown} value @param {{source?: string}} context */
function kept(_key, value, { source = '' }) {
  return typeof value === 'number' && LONG_NUMBER.test(source) && String(value) !== source ? JSON_TEXT.rawJSON?.(source) : value;
}

/** @param {unknown} value @returns {value is object} */
function hasParts(value) {
  return value !== null && typeof value === 'object' && !JSON_TEXT.isRawJSON?.(value);
}

const LONGEST = 2000;
const LONGEST_PATH = 500;

/** A value as lines, at most so many. @param {unknown} value @param {number} most @returns {{lines: Line[], more: number}} */
export function jsonLines(value, most) {
  /** @type {Line[]} */
  const lines = [];
  let more = 0;
  const put = (/** @type {Line} */ line) => {
    if (lines.length < most) lines.push(line);
    else more += 1;
  };
  walk(value, '$', 0, '', '', '', put);
  return { lines, more };
}

/**
 * @param {unknown} value @param {string} path @param {number} indent @param {string} name @param {string} comma
 * @param {Line['mark']} mark @param {(line: Line) => void} put
 */
function walk(value, path, indent, name, comma, mark, put) {
  const head = name === '' ? {} : { name: shortened(name) };
  if (!hasParts(value)) {
    put({ indent, ...head, text: `${scalar(value)}${comma}`, tone: toneOf(value), path, mark });
    return;
  }
  const isList = Array.isArray(value);
  const entries = isList ? value.map((one, index) => [String(index), one]) : Object.entries(value);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (!entries.length) {
    put({ indent, ...head, text: `${open}${close}${comma}`, tone: 'plain', path, mark });
    return;
  }
  put({ indent, ...head, text: open, tone: 'plain', path, mark });
  entries.forEach(([key, one], index) => {
    const inner = longer(path, isList ? `[${key}]` : step(/** @type {string} */ (key)));
    const end = index < entries.length - 1 ? ',' : '';
    walk(one, inner, indent + 1, isList ? '' : JSON.stringify(key), end, mark, put);
  });
  put({ indent, text: `${close}${comma}`, tone: 'plain', path, mark });
}

/** @param {string} key */
function step(key) {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

/** A path with a step more; a very long one is of no use, and every line has its own. @param {string} path @param {string} more */
function longer(path, more) {
  const text = path.endsWith('…') ? path : path + more;
  return text.length > LONGEST_PATH ? `${text.slice(0, LONGEST_PATH)}…` : text;
}

/** @param {string} text */
function shortened(text) {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/** @param {unknown} value */
function scalar(value) {
  return shortened(JSON.stringify(value) ?? 'null');
}

/** @param {unknown} value @returns {Line['tone']} */
function toneOf(value) {
  return typeof value === 'string' ? 'text' : 'number';
}

/** What differs between two values, unchanged parts folded. @param {unknown} before @param {unknown} after @param {number} most */
export function diffLines(before, after, most) {
  /** @type {Line[]} */
  const lines = [];
  let more = 0;
  const put = (/** @type {Line} */ line) => {
    if (lines.length < most) lines.push(line);
    else more += 1;
  };
  compare(before, after, '$', 0, '', '', put);
  return { lines, more };
}

/**
 * @param {unknown} before @param {unknown} after @param {string} path @param {number} indent @param {string} name
 * @param {string} comma @param {(line: Line) => void} put
 */
function compare(before, after, path, indent, name, comma, put) {
  const head = name === '' ? {} : { name: shortened(name) };
  if (same(before, after)) {
    put({ indent, ...head, text: `${folded(after)}${comma}`, tone: hasParts(after) ? 'plain' : toneOf(after), path, mark: '' });
    return;
  }
  if (!isObject(before) || !isObject(after)) {
    if (before !== undefined) walk(before, path, indent, name, comma, '-', put);
    if (after !== undefined) walk(after, path, indent, name, comma, '+', put);
    return;
  }
  put({ indent, ...head, text: '{', tone: 'plain', path, mark: '' });
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  keys.forEach((key, index) => {
    const end = index < keys.length - 1 ? ',' : '';
    compare(member(before, key), member(after, key), longer(path, step(key)), indent + 1, JSON.stringify(key), end, put);
  });
  put({ indent, text: `}${comma}`, tone: 'plain', path, mark: '' });
}

/** A member of its own: a key may be `constructor`. @param {Record<string, unknown>} value @param {string} key */
function member(value, key) {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
function isObject(value) {
  return hasParts(value) && !Array.isArray(value);
}

/** @param {unknown} value */
function folded(value) {
  if (!hasParts(value)) return scalar(value);
  const size = Object.keys(value).length;
  const text = JSON.stringify(value);
  if (text.length <= 60) return text;
  return Array.isArray(value) ? `[ ${size} unchanged ]` : `{ ${size} unchanged }`;
}

/** @param {unknown} one @param {unknown} other @returns {boolean} */
export function same(one, other) {
  if (one === other) return true;
  if (one === null || other === null || typeof one !== 'object' || typeof other !== 'object') return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  const a = /** @type {Record<string, unknown>} */ (one);
  const b = /** @type {Record<string, unknown>} */ (other);
  return names.every((name) => Object.hasOwn(b, name) && same(a[name], b[name]));
}
