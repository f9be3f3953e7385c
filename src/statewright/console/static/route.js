// The address of the page: what is shown stands in it, so that a link shows the same to everyone.

/**
 * @typedef {{page: string, id: string, query: Record<string, string>}} Route
 *   `page` is the first step below /console, `id` all that follows: an ARN or a name.
 */

const BASE = '/console';

/** The region of the page, kept by navigation.js, and that of the server. Empty: not known, the server's. */
export const here = { region: '', home: '' };

/** @param {string} path @param {string} search @returns {Route} */
export function parse(path, search) {
  const query = Object.fromEntries(new URLSearchParams(search));
  const rest = path.startsWith(BASE) ? path.slice(BASE.length).replace(/^\/+|\/+$/g, '') : '';
  const [page] = rest.split('/', 1);
  return { page, id: decode(rest.slice(page.length + 1)), query };
}

/** The region of an ARN; empty for other texts. @param {string} arn */
export function regionOf(arn) {
  return (arn.startsWith('arn:') && arn.split(':')[3]) || '';
}

/** The region of an ARN in a route, else the one that its query names. @param {Route} route */
export function regionIn({ id, query }) {
  return regionOf(id) || query.region || '';
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** An address, in the region of the page unless the query or the id names one. @param {string} page @param {string} [id] @param {Record<string, string | number | null | undefined>} [query] */
export function format(page, id = '', query = {}) {
  const words = new URLSearchParams();
  const region = query.region ?? here.region;
  for (const [key, value] of Object.entries({ ...query, region: region === here.home || regionOf(id) ? '' : region })) {
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
