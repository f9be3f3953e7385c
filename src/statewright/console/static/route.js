// The address of the page: what is shown stands in it, so that a link shows the same to everyone.

/**
 * @typedef {{page: 'executions' | 'machines' | 'execution' | 'unknown', arn: string, query: Record<string, string>}} Route
 */

const BASE = '/console';

/** @param {string} path @param {string} search @returns {Route} */
export function parse(path, search) {
  const query = Object.fromEntries(new URLSearchParams(search));
  const rest = path.startsWith(BASE) ? path.slice(BASE.length).replace(/^\/+|\/+$/g, '') : '';
  if (rest === '' || rest === 'executions') return { page: 'executions', arn: '', query };
  if (rest === 'machines') return { page: 'machines', arn: '', query };
  if (rest.startsWith('execution/')) {
    return { page: 'execution', arn: decode(rest.slice('execution/'.length)), query };
  }
  return { page: 'unknown', arn: '', query };
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param {Route['page']} page @param {string} [arn] @param {Record<string, string | number | null | undefined>} [query] */
export function format(page, arn = '', query = {}) {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') words.set(key, String(value));
  }
  const tail = page === 'execution' ? `execution/${encodeURIComponent(arn).replace(/%3A/g, ':')}` : page;
  const search = words.toString();
  return `${BASE}/${tail}${search ? `?${search}` : ''}`;
}
