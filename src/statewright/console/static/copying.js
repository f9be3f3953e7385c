// Text for the clipboard.

/** Copies a text; the error of a browser that refuses says what to do. @param {string} text */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch (problem) {
    throw new Error(`The browser did not copy it: ${/** @type {Error} */ (problem).message || 'it gives no reason'}`);
  }
}
