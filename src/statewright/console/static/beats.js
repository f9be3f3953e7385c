// When a stream was heard, lost and opened again, and the server's clock. Pure: it asks the clocks that it is given.

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5000;
// The server sends a line every 15 s at least.
const LONGEST_SILENCE_MS = 40000;

/** The words of a request for what is watched. @param {[string, number | null][]} names  subjects, and the last event of a run */
export function watchList(names) {
  return names.map(([name, at]) => (at === null ? name : `${name}@${at}`)).join(',');
}

export class Beats {
  /** @param {() => number} steadyMs  never set back @param {() => number} wallMs */
  constructor(steadyMs, wallMs) {
    this.steadyMs = steadyMs;
    this.wallMs = wallMs;
    /** @type {number | null} */
    this.aheadMs = null;
    this.heardMs = steadyMs();
    /** @type {number | null} */
    this.lostMs = null;
    this.failures = 0;
    this.wasOpen = false;
  }

  /** A line has come. */
  heard() {
    this.heardMs = this.steadyMs();
  }

  /** The server's instant. @param {number} nowMs */
  note(nowMs) {
    this.aheadMs = nowMs - this.steadyMs();
  }

  serverNow() {
    return this.aheadMs === null ? this.wallMs() : this.steadyMs() + this.aheadMs;
  }

  /** The stream ended, or could not begin. */
  lost() {
    if (this.wasOpen && this.lostMs === null) this.lostMs = this.steadyMs();
    this.failures += 1;
  }

  /** The page has closed the stream, which is no absence of the server. */
  closed() {
    this.lostMs = null;
  }

  /** The stream has begun; returns for how long the server was away, 0 if it was not. */
  opened() {
    const awayMs = this.lostMs === null ? 0 : Math.max(1, this.steadyMs() - this.lostMs);
    this.lostMs = null;
    this.failures = 0;
    this.wasOpen = true;
    this.heard();
    return awayMs;
  }

  /** How long to wait before the next attempt: twice as long after each failure. */
  pause() {
    return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.max(0, this.failures - 1));
  }

  /** Whether so long nothing came that the connection must be dead. */
  isSilent() {
    return this.steadyMs() - this.heardMs > LONGEST_SILENCE_MS;
  }
}
