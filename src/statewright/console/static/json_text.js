// A JSON text as it is typed: where its first mistake is. Numbers stay as they are written, so nothing is parsed. Pure.

/** @typedef {{line: number, column: number, message: string}} Mistake  both count from 1 */

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORD = /[A-Za-z_$][\w$]*/y;
const DEEPEST = 500;

/** What stands in the place of a value that the server's settings hide. */
export const HIDDEN = '•••';

class Wrong extends Error {
  /** @param {number} at @param {string} message */
  constructor(at, message) {
    super(message);
    this.at = at;
  }
}

/** The first mistake of a text; null if it is one JSON value. @param {string} text @returns {Mistake | null} */
export function mistakeOf(text) {
  try {
    const end = space(text, value(text, space(text, 0), 0));
    if (end < text.length) throw new Wrong(end, `Nothing may follow the value, but ${shown(text, end)} does.`);
    return null;
  } catch (problem) {
    if (!(problem instanceof Wrong)) throw problem;
    const before = text.slice(0, problem.at).split('\n');
    return { line: before.length, column: before[before.length - 1].length + 1, message: problem.message };
  }
}

/** The kind of a text's value, by its first character. @param {string} text @returns {'object' | 'list' | 'other'} */
export function kindOf(text) {
  const first = text[space(text, 0)];
  return first === '{' ? 'object' : first === '[' ? 'list' : 'other';
}

/** The text on lines of its own, indented; its values stay as they are written. @param {string} text  without a mistake @returns {string} */
export function tidy(text) {
  const parts = [];
  let depth = 0;
  const line = () => `\n${'  '.repeat(depth)}`;
  for (let at = space(text, 0); at < text.length; at = space(text, at)) {
    const one = text[at];
    let end = at + 1;
    if (one === '"') end = string(text, at);
    else if (!'{}[],:'.includes(one)) while (end < text.length && !'{}[],: \t\r\n'.includes(text[end])) end += 1;
    const closing = '}]'['{['.indexOf(one)];
    const next = closing ? space(text, end) : 0;
    if (closing && text[next] === closing) {
      parts.push(one + closing);
      at = next + 1;
      continue;
    }
    if (closing) depth += 1;
    if (one === '}' || one === ']') {
      depth -= 1;
      parts.push(line(), one);
    } else parts.push(text.slice(at, end), one === ':' ? ' ' : closing || one === ',' ? line() : '');
    at = end;
  }
  return parts.join('');
}

/** The end of a value. @param {string} text @param {number} at @param {number} depth @returns {number} */
function value(text, at, depth) {
  if (depth > DEEPEST) throw new Wrong(at, 'This is nested too deeply.');
  const first = text[at];
  if (first === '{') return members(text, at, depth);
  if (first === '[') return elements(text, at, depth);
  if (first === '"') return string(text, at);
  NUMBER.lastIndex = at;
  const number = NUMBER.exec(text);
  if (number) {
    const end = at + number[0].length;
    if (/[0-9.]/.test(text[end] ?? '')) throw new Wrong(at, 'This number is not written as JSON has it: no leading zeros, and digits on both sides of the point.');
    return end;
  }
  WORD.lastIndex = at;
  const word = WORD.exec(text)?.[0];
  if (word === 'true' || word === 'false' || word === 'null') return at + word.length;
  if (word) throw new Wrong(at, /^(?:True|False|None|undefined|NaN)$/.test(word) ? `${word} is not JSON: write true, false or null.` : `Texts need double quotes: "${word.slice(0, 20)}".`);
  if (first === "'") throw new Wrong(at, 'Texts need double quotes, not single ones.');
  throw new Wrong(at, at < text.length ? `A value must stand here, not ${shown(text, at)}.` : 'A value is missing at the end.');
}

/** @param {string} text @param {number} at @param {number} depth */
function members(text, at, depth) {
  let place = space(text, at + 1);
  if (text[place] === '}') return place + 1;
  for (;;) {
    if (text[place] !== '"') throw new Wrong(place, text[place] === '}' ? 'No comma may stand before }.' : place < text.length ? `A name in double quotes must stand here, not ${shown(text, place)}.` : 'A } is missing at the end.');
    const end = string(text, place);
    place = space(text, end);
    if (text[place] !== ':') throw new Wrong(place, 'A colon must follow the name.');
    place = space(text, value(text, space(text, place + 1), depth + 1));
    if (text[place] === '}') return place + 1;
    if (text[place] !== ',') throw new Wrong(place, place < text.length ? `A comma or } must stand here, not ${shown(text, place)}.` : 'A } is missing at the end.');
    place = space(text, place + 1);
  }
}

/** @param {string} text @param {number} at @param {number} depth */
function elements(text, at, depth) {
  let place = space(text, at + 1);
  if (text[place] === ']') return place + 1;
  for (;;) {
    if (text[place] === ']') throw new Wrong(place, 'No comma may stand before ].');
    place = space(text, value(text, place, depth + 1));
    if (text[place] === ']') return place + 1;
    if (text[place] !== ',') throw new Wrong(place, place < text.length ? `A comma or ] must stand here, not ${shown(text, place)}.` : 'A ] is missing at the end.');
    place = space(text, place + 1);
  }
}

/** @param {string} text @param {number} at */
function string(text, at) {
  for (let place = at + 1; place < text.length; place += 1) {
    const one = text[place];
    if (one === '"') return place + 1;
    if (one < ' ') throw new Wrong(place, one === '\n' ? 'The text has no closing quote on its line.' : 'A control character must be written as an escape, such as \\t.');
    if (one === '\\') {
      place += 1;
      const hex = text[place] === 'u';
      if (hex ? !/^[0-9a-fA-F]{4}$/.test(text.slice(place + 1, place + 5)) : !'"\\/bfnrt'.includes(text[place] ?? 'x')) {
        throw new Wrong(place - 1, 'There is no such escape in JSON; a backslash is written as \\\\.');
      }
    }
  }
  throw new Wrong(at, 'The text has no closing quote.');
}

/** @param {string} text @param {number} at */
function space(text, at) {
  while (at < text.length && ' \t\r\n'.includes(text[at])) at += 1;
  return at;
}

/** @param {string} text @param {number} at */
function shown(text, at) {
  return JSON.stringify(String.fromCodePoint(/** @type {number} */ (text.codePointAt(at))));
}
