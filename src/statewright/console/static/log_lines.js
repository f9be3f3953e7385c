// Lines of a function's log: what each says of an invocation, and the figures of its report. Pure.

/** @typedef {{atMs: number, text: string, stream?: string}} LogLine */

/** How a line looks: bad for errors, faint for what the runtime says, else plain. @param {string} text */
export function lookOf(text) {
  if (/^(START|END|REPORT|INIT_START) /.test(text)) return 'faint';
  if (/^\[ERROR\]|^Traceback|Task timed out after|Runtime\.ExitError|^\s*(?:ERROR|CRITICAL|FATAL)\b|\b(?:ERROR|CRITICAL)\b\t|^\w*(?:Error|Exception): /.test(text)) return 'bad';
  return '';
}

/**
 * The figures of an invocation in the tail of its log.
 * @param {string} text @returns {{requestId: string | null, durationMs: number | null, billedMs: number | null, usedMb: number | null, initMs: number | null}}
 */
export function reportOf(text) {
  const report = /REPORT RequestId: (\S+)([^\n]*)/.exec(text);
  const figures = report ? report[2] : '';
  const figure = (/** @type {RegExp} */ wanted) => {
    const found = wanted.exec(figures);
    return found ? Number(found[1]) : null;
  };
  return {
    requestId: report?.[1] ?? null,
    durationMs: figure(/(?:^|\t)Duration: ([\d.]+) ms/),
    billedMs: figure(/Billed Duration: ([\d.]+) ms/),
    usedMb: figure(/Max Memory Used: ([\d.]+) MB/),
    initMs: figure(/Init Duration: ([\d.]+) ms/),
  };
}

/** A filter pattern that finds a plain text; empty for none. @param {string} text */
export function patternOf(text) {
  const wanted = text.trim();
  return wanted ? `"${wanted.replaceAll('"', '')}"` : '';
}

/** Base64 of a text's UTF-8. @param {string} text */
export function toBase64(text) {
  let found = '';
  for (const byte of new TextEncoder().encode(text)) found += String.fromCharCode(byte);
  return btoa(found);
}

/** The text whose UTF-8 has this base64; what is none shows as such. @param {string} text */
export function fromBase64(text) {
  return new TextDecoder().decode(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)));
}
