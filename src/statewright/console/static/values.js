// Texts that may be JSON.

/** A text as the value that it is the JSON of; the text itself if it is none. Numbers that JavaScript cannot keep stay text. @param {string | null | undefined} text @returns {unknown} */
export function opened(text) {
  if (typeof text !== 'string' || !/^\s*[[{]/.test(text)) return text;
  if (/(?<![\w."])-?\d{16,}(?![\w"])/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Why a text is no JSON; '' if it is. @param {string} text */
export function jsonProblem(text) {
  try {
    JSON.parse(text);
    return '';
  } catch (problem) {
    return /** @type {Error} */ (problem).message;
  }
}
