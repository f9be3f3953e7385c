// Reads of the server: one function for each address, JSON in and out.

/** A refusal of the server, in its words. */
export class Refused extends Error {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * @param {string} name  path below /console/api/
 * @param {Record<string, string | number | null | undefined>} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function read(name, query = {}, signal) {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') words.set(key, String(value));
  }
  let answer;
  try {
    answer = await fetch(`/console/api/${name}?${words}`, { signal, cache: 'no-store' });
  } catch (problem) {
    if (signal?.aborted) throw problem;
    throw new Refused(0, 'Unreachable', 'The server does not answer. Is it running?');
  }
  const document = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, document.error ?? 'Error', document.message ?? answer.statusText);
  return document;
}
