// Text for the clipboard.

/** Copies a text; its error is a sentence for the page, if the browser refuses. @param {string} text */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch (problem) {
    throw new Error(`The browser did not copy it: ${/** @type {Error} */ (problem).message || 'it gives no reason'}`);
  }
}
