// Texts that are read: JSON, and attributes of messages.

/** A text as the value that it is the JSON of; the text itself if it is none. Numbers that JavaScript cannot keep stay text. @param {string | null | undefined} text @returns {unknown} */
export function opened(text) {
  if (typeof text !== 'string' || !/^\s*[[{]/.test(text)) return text;
  if (/(?<![\w"])-?\d{16,}(?![\w"])/.test(text)) return text;
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

/** Attributes of a message from lines of name=value. @param {string} text */
export function attributesOf(text) {
  return Object.fromEntries(text.split('\n').filter((line) => line.trim()).map((line) => {
    const place = line.indexOf('=');
    if (place < 1) throw new Error(`This line is no name=value: ${line.slice(0, 60)}`);
    const value = line.slice(place + 1).trim();
    return [line.slice(0, place).trim(), { DataType: /^-?\d+(\.\d+)?$/.test(value) ? 'Number' : 'String', StringValue: value }];
  }));
}
