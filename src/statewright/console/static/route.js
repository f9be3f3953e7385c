// The address of the page: what is shown stands in it, so that a link shows the same to everyone.

/**
 * @typedef {{page: string, id: string, query: Record<string, string>}} Route
 *   `page` is the first step below /console, `id` all that follows: an ARN or a name.
 */

const BASE = '/console';

/** @param {string} path @param {string} search @returns {Route} */
export function parse(path, search) {
  const query = Object.fromEntries(new URLSearchParams(search));
  const rest = path.startsWith(BASE) ? path.slice(BASE.length).replace(/^\/+|\/+$/g, '') : '';
  const [page] = rest.split('/', 1);
  return { page, id: decode(rest.slice(page.length + 1)), query };
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param {string} page @param {string} [id] @param {Record<string, string | number | null | undefined>} [query] */
export function format(page, id = '', query = {}) {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') words.set(key, String(value));
  }
  const tail = id ? `${page}/${encodeURIComponent(id).replace(/%3A/g, ':')}` : page;
  const search = words.toString();
  return `${BASE}${tail ? `/${tail}` : ''}${search ? `?${search}` : ''}`;
}

/** The version or alias of a state machine's ARN; empty for the machine itself. @param {string} arn */
export function qualifierOf(arn) {
  return arn.split(':').slice(7).join(':');
}
