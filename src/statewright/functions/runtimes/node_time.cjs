// Preloaded into Node workers of a server in virtual time: dates and timers of a handler follow the server's clock.
//
// Time stands still while a handler works. When only timers are left to wait for, the worker asks the server to wake it
// at the first of them. Requests by `node:http`, as SDKs make them, name this worker, so that the server knows which one
// waits; its answers have the time. Not covered: `fetch`, worker threads, loops that wait for a clock.
"use strict";

const http = require("node:http");
const timers = require("node:timers");
const promises = require("node:timers/promises");
const Module = require("node:module");

const worker = process.env.STATEWRIGHT_WORKER;
let nowMs = Number(process.env.STATEWRIGHT_NOW_MS);
delete process.env.STATEWRIGHT_WORKER;
delete process.env.STATEWRIGHT_NOW_MS;

const RealDate = Date;
const { setTimeout: realTimeout, setImmediate: realImmediate } = globalThis;
const RESTING = new Set(["PipeWrap", "TTYWrap", "TCPSocketWrap", "Timeout", "Immediate", "SignalWrap", "FileHandle"]);
const POLL_MS = 1;
const LOOKS_IN_A_MS = 1000;

const origin = nowMs;
let looks = 0;
let order = 0;
let calls = 0;
let quiet = 0;
let isChecking = false;
const waiting = new Set();
let asked = [];

const time = { send: null, isRunning: false, reach, check };
globalThis[Symbol.for("statewright.time")] = time;

function now() {
  looks += 1;
  return nowMs + looks / LOOKS_IN_A_MS;
}

// ---------------------------------------------------------------- dates and clocks

const wholeNow = () => Math.floor(now());
const VirtualDate = new Proxy(RealDate, {
  construct: (kind, given, made) =>
    Reflect.construct(kind, given.length === 0 ? [wholeNow()] : given, made === VirtualDate ? kind : made),
  apply: () => new RealDate(wholeNow()).toString(),
  get: (kind, name) => (name === "now" ? wholeNow : kind[name]),
});
RealDate.prototype.constructor = VirtualDate;
globalThis.Date = VirtualDate;
performance.now = () => now() - origin;
const nanoseconds = () => BigInt(Math.round((now() - origin) * 1e6));
process.hrtime = (since) => {
  const passed = nanoseconds() - (since ? BigInt(since[0]) * 1000000000n + BigInt(since[1]) : 0n);
  return [Number(passed / 1000000000n), Number(passed % 1000000000n)];
};
process.hrtime.bigint = nanoseconds;

// ---------------------------------------------------------------- timers

class VirtualTimer {
  constructor(call, length, repeats) {
    this.call = call;
    this.length = Math.max(1, Math.ceil(Number(length) || 0));
    this.repeats = repeats;
    this.counts = true;
    this.refresh();
  }
  refresh() {
    this.due = nowMs + this.length;
    this.order = order++;
    waiting.add(this);
    check();
    return this;
  }
  ref() { this.counts = true; check(); return this; }
  unref() { this.counts = false; return this; }
  hasRef() { return this.counts; }
  close() { waiting.delete(this); return this; }
  [Symbol.toPrimitive]() { return this.order; }
}

function set(repeats) {
  return (callback, length, ...given) => {
    if (typeof callback !== "function") throw new TypeError('The "callback" argument must be of type function.');
    return new VirtualTimer(() => callback(...given), length, repeats);
  };
}

function clear(timer) {
  if (timer instanceof VirtualTimer) waiting.delete(timer);
  else for (const one of waiting) if (String(one.order) === String(timer)) waiting.delete(one);
}

function slept(length, value, options) {
  return new Promise((resolve, reject) => {
    const signal = options?.signal;
    const stop = () => { clear(timer); reject(signal.reason); };
    const timer = new VirtualTimer(() => { signal?.removeEventListener("abort", stop); resolve(value); }, length, false);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

const setTimeout = set(false);
Object.defineProperty(setTimeout, require("node:util").promisify.custom, { value: slept });
const replaced = { setTimeout, setInterval: set(true), clearTimeout: clear, clearInterval: clear };
Object.assign(globalThis, replaced);
Object.assign(timers, replaced);
promises.setTimeout = slept;
if (promises.scheduler) promises.scheduler.wait = (length, options) => slept(length, undefined, options);

function first() {
  let found = null;
  for (const timer of waiting) {
    if (found === null || timer.due < found.due || (timer.due === found.due && timer.order < found.order)) found = timer;
  }
  return found;
}

function run() {
  const timer = first();
  if (timer === null || timer.due > nowMs) { check(); return; }
  waiting.delete(timer);
  if (timer.repeats) timer.refresh();
  // Promises and other tasks that a callback starts run before the next callback.
  realImmediate(run);
  timer.call();
}

function reach(ms) {
  nowMs = Math.max(nowMs, ms);
  asked = asked.filter((due) => due > nowMs);
  if (time.isRunning) realImmediate(run);
}

// ---------------------------------------------------------------- when nothing but timers is left

function isQuiet() {
  return calls === 0 && process.getActiveResourcesInfo().every((kind) => RESTING.has(kind));
}

function check() {
  if (isChecking || !time.isRunning) return;
  isChecking = true;
  quiet = 0;
  realImmediate(look);
}

function look() {
  let earliest = Infinity;
  for (const timer of waiting) if (timer.counts) earliest = Math.min(earliest, timer.due);
  if (!time.isRunning || earliest === Infinity || Math.min(...asked) <= earliest) { isChecking = false; return; }
  if (!isQuiet()) { quiet = 0; realTimeout(look, POLL_MS); return; }
  quiet += 1;
  if (quiet < 3) { realImmediate(look); return; }
  isChecking = false;
  if (earliest <= nowMs) { realImmediate(run); return; }
  asked.push(earliest);
  time.send({ t: "sleep_until", due_ms: earliest }, Buffer.alloc(0));
}

// ---------------------------------------------------------------- calls

const server = (process.env.AWS_ENDPOINT_URL || "").replace(/^https?:\/\//, "").replace(/\/$/, "");
const addRequest = http.Agent.prototype.addRequest;
http.Agent.prototype.addRequest = function (request, options, ...rest) {
  calls += 1;
  request.once("close", () => { calls -= 1; check(); });
  if (`${options.host}:${options.port}` === server && !request.headersSent) {
    request.setHeader("x-statewright-worker", worker);
    const emit = request.emit;
    request.emit = function (name, ...given) {
      if (name === "response" && given[0].headers["x-statewright-now"]) reach(Number(given[0].headers["x-statewright-now"]));
      return emit.call(this, name, ...given);
    };
  }
  return addRequest.call(this, request, options, ...rest);
};
Module.syncBuiltinESMExports();
