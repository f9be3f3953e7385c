// Files for the user: what the server makes, and what the page makes itself.

import { blob } from './api.js';

/** Saves a file of the server. @param {string} name  path below /console/api/ @param {import('./api.js').Query} query @param {string} file */
export async function download(name, query, file) {
  save(await blob(name, query), file);
}

/** Saves text as a file. @param {string} text @param {string} file */
export function downloadText(text, file) {
  save(new Blob([text], { type: 'application/octet-stream' }), file);
}

/** @param {Blob} content @param {string} file */
function save(content, file) {
  const address = URL.createObjectURL(content);
  const link = Object.assign(document.createElement('a'), { href: address, download: file.replace(/[^\w.-]+/g, '-').slice(0, 120) });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
