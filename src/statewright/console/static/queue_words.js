// What the attributes of a queue mean, and bodies of messages as JSON where they are that. Pure.

import { duration } from './format.js';

/** @type {Record<string, (value: string) => [string, string]>} name to its label and the value in words */
const MEANINGS = {
  VisibilityTimeout: (value) => ['Visibility timeout', `${duration(Number(value) * 1000)}: a received message is hidden so long`],
  DelaySeconds: (value) => ['Delay', Number(value) ? `${duration(Number(value) * 1000)} until a sent message is visible` : 'none: sent messages are visible at once'],
  MessageRetentionPeriod: (value) => ['Retention', `${duration(Number(value) * 1000)}: older messages are deleted`],
  MaximumMessageSize: (value) => ['Largest message', `${Math.round(Number(value) / 1024).toLocaleString('en-GB')} KiB`],
  ReceiveMessageWaitTimeSeconds: (value) => ['Receives wait', Number(value) ? `up to ${value} s for a message (long polling)` : 'not at all (short polling), unless the call says so'],
  FifoQueue: (value) => ['FIFO', value === 'true' ? 'messages of a group in order, one at a time' : 'no'],
  ContentBasedDeduplication: (value) => ['Deduplication', value === 'true' ? 'by the hash of the body for five minutes, unless an id is given' : 'by the id that the sender gives'],
  DeduplicationScope: (value) => ['Deduplication scope', value === 'messageGroup' ? 'within a message group' : 'the whole queue'],
  FifoThroughputLimit: (value) => ['Throughput', value === 'perMessageGroupId' ? 'counted for each message group' : 'counted for the whole queue'],
  KmsMasterKeyId: (value) => ['KMS key', value],
  KmsDataKeyReusePeriodSeconds: (value) => ['KMS key is reused for', duration(Number(value) * 1000)],
  SqsManagedSseEnabled: (value) => ['Encryption', value === 'true' ? 'managed by SQS (shown, not carried out here)' : 'off'],
};
const POLICIES = new Set(['Policy', 'RedrivePolicy', 'RedriveAllowPolicy']);

/** Attributes as rows of label and meaning; policies are apart. @param {Record<string, string>} attributes @returns {[string, string][]} */
export function meanings(attributes) {
  return Object.entries(attributes).filter(([name]) => !POLICIES.has(name)).map(([name, value]) => (Object.hasOwn(MEANINGS, name) ? MEANINGS[name](value) : [name, value]));
}

/** The policies of a queue, opened. @param {Record<string, string>} attributes @returns {{name: string, value: unknown}[]} */
export function policies(attributes) {
  return ['RedrivePolicy', 'RedriveAllowPolicy', 'Policy'].filter((name) => attributes[name]).map((name) => ({ name, value: opened(attributes[name]).value }));
}

/**
 * A body as the value that it is the JSON of; a text stays one. Texts within that are JSON objects are opened, too.
 * @param {string} text @returns {{value: unknown, isJson: boolean}}
 */
export function opened(text) {
  try {
    const value = JSON.parse(text);
    if (value === null || typeof value !== 'object') return { value: text, isJson: false };
    return { value: inner(value, 3), isJson: true };
  } catch {
    return { value: text, isJson: false };
  }
}

/** @param {any} value @param {number} depth @returns {any} */
function inner(value, depth) {
  if (!depth) return value;
  if (Array.isArray(value)) return value.map((one) => inner(one, depth - 1));
  if (value !== null && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one, depth - 1)]));
  if (typeof value === 'string' && /^\s*[[{]/.test(value)) {
    const found = opened(value);
    return found.isJson ? found.value : value;
  }
  return value;
}

/** The first characters of a body, in one line. @param {string} text @param {number} [most] */
export function firstOf(text, most = 160) {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
}

/** Lines `NAME TYPE=VALUE` or `NAME=VALUE` as message attributes. @param {string} text @returns {Record<string, {DataType: string, StringValue: string}>} */
export function readAttributes(text) {
  /** @type {Record<string, {DataType: string, StringValue: string}>} */
  const found = {};
  for (const line of text.split('\n')) {
    if (!line.trim()) continue;
    const [, name, type, value] = /^\s*([^\s=]+)(?:\s+([^\s=]+))?\s*=(.*)$/.exec(line) ?? [];
    if (!name) throw new Error(`An attribute is a line of NAME=VALUE or NAME Number=VALUE, not: ${firstOf(line, 60)}`);
    found[name] = { DataType: type || 'String', StringValue: value.trim() };
  }
  return found;
}
