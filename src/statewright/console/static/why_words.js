// The way of a value in words, and paths of lines as JSON pointers. Pure.

/**
 * @typedef {{state: string, event: number, where: 'input' | 'output' | 'assigned', path: string}} Spot
 * @typedef {{field: string, expression: string | null}} Field
 * @typedef {Spot & {type: string, value: string | null, how: string, fields: Field[]}} Link
 * @typedef {{kind: string, reason: string | null, event: number | null, resource: string | null, path: string | null,
 *   expression: string | null, reads: (Spot & {expression: string, value: string | null})[]}} End
 */

const STEP = /\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y;

/** The pointer of a line's path, `$.a[0]["b c"]`; null for one that was cut. @param {string} path @returns {string | null} */
export function pointerOf(path) {
  let pointer = '';
  let at = 1;
  while (at < path.length) {
    STEP.lastIndex = at;
    const step = STEP.exec(path);
    if (!step) return null;
    pointer += `/${escaped(step[1] ?? step[2] ?? JSON.parse(step[3]))}`;
    at = STEP.lastIndex;
  }
  return path.startsWith('$') ? pointer : null;
}

/** @param {string} name */
function escaped(name) {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Members of a value, each with its pointer, at most so many. @param {unknown} value @param {string} pointer @param {number} most @returns {[string, string][]} */
export function membersOf(value, pointer, most) {
  if (value === null || typeof value !== 'object') return [];
  return Object.keys(value).slice(0, most).map((name) => [name, `${pointer}/${escaped(name)}`]);
}

/** Words for a place in a state. @param {Spot} spot @returns {[string, string]} words, and the path after them */
export function placeWords({ where, path }) {
  if (where !== 'assigned') return [where, path];
  const [, name, ...rest] = path.split('/');
  return [`variable $${name}`, rest.length ? `/${rest.join('/')}` : ''];
}

const HOW = /** @type {Record<string, string>} */ ({
  input: 'from the input of this state',
  previous: 'from the output of the state before',
  item: 'from the items of the Map around',
  branch: 'from the input of the Parallel around',
  inside: 'from the last state inside',
  variable: 'from a variable',
  start: 'from the input of the execution',
  literal: 'written in the definition',
  result: 'from the answer of the task',
  computed: 'computed here',
  error: 'from the error that was caught',
  context: 'from the context object',
  parts: 'put together here',
  unknown: 'not followed further',
});

/** @param {Link} link */
export function howWords({ how }) {
  return HOW[how] ?? how;
}

/** @param {Field[]} fields */
export function fieldWords(fields) {
  return fields.map(({ field, expression }) => (expression ? `${field} ${expression}` : field)).join(', ');
}

/** @param {End} end */
export function endWords({ kind, reason, event, resource, path, expression }) {
  const at = path ? ` at ${path}` : '';
  const during = event ? `, event ${event}` : '';
  if (kind === 'start') return `The execution began with it: its input${at}.`;
  if (kind === 'literal') return 'It is written in the definition.';
  if (kind === 'result') return `${resource ?? 'The task'} answered it${at}${during}.`;
  if (kind === 'computed') return `It is computed by ${expression}.`;
  if (kind === 'error') return `It is the error that the state failed with${during}.`;
  if (kind === 'context') return `It is in the context object${at}.`;
  if (kind === 'parts') return `It is put together: ${reason} Choose a member of it.`;
  return `It is not followed further. ${reason ?? ''}`.trim();
}
