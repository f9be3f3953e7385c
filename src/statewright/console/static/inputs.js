// What is typed into fields, as values. Pure.

/** A whole number of a field that is not negative. @param {string} text @param {string} what  its name @returns {number} */
export function wholeNumber(text, what) {
  if (!/^\s*\d{1,12}\s*$/.test(text)) throw new Error(`${what} must be a whole number, not ${text.trim().slice(0, 40) || 'empty'}.`);
  return Number(text);
}
