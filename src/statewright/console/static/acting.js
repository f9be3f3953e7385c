// What forms that act on executions need to know: names, ARNs, keys of links. Pure.

// Source: Step Functions API reference, StartExecution.
const REFUSED = /[\s<>{}[\]?*"#%\\^|~`$&,;:/\u0000-\u001f\u007f-\u009f]/;

/** Why a name cannot be that of an execution; null if it can, or is left out. @param {string} name @returns {string | null} */
export function nameProblem(name) {
  if (name.length > 80) return `It has ${name.length} characters; 80 are allowed.`;
  const found = REFUSED.exec(name);
  return found ? `It may not contain ${found[0].trim() ? JSON.stringify(found[0]) : 'spaces'}.` : null;
}

/** The one-time key of a link, or of what was pasted; null if there is none. @param {string} text @returns {string | null} */
export function keyOf(text) {
  const found = /(?:^|#k=)([A-Za-z0-9_-]{40,100})\s*$/.exec(text.trim());
  return found ? found[1] : null;
}

/** A random name that no execution has. Browsers give pages of other machines no `randomUUID`. @param {Uint8Array} [bytes]  16 of them */
export function uniqueName(bytes = crypto.getRandomValues(new Uint8Array(16))) {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** The ARN of an execution. @param {string} machineArn  of a machine, version or alias @param {string} name */
export function executionArn(machineArn, name) {
  return `${machineArn.split(':').slice(0, 7).join(':').replace(':stateMachine:', ':execution:')}:${name}`;
}

/** The ARN of the machine itself, without its version or alias. @param {string} arn */
export function machineOf(arn) {
  return arn.split(':').slice(0, 7).join(':');
}

/** The time until a limit in words; what is over is said so. @param {number | null} due @param {number} now @param {(ms: number) => string} words */
export function timeLeft(due, now, words) {
  if (due === null) return null;
  return due > now ? `in ${words(due - now)}` : 'now';
}
