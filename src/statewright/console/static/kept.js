// What the browser keeps for the user: a few words, if it lets the page keep any.

const PREFIX = 'statewright.';

/** @param {string} name @returns {string | null} */
export function kept(name) {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    // No storage: a private window, a policy, or no browser.
    return null;
  }
}

/** @param {string} name @param {string | null} value */
export function keep(name, value) {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // It holds until the page is left.
  }
}
