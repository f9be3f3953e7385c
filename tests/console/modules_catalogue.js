// Checks of the pure modules behind the pages of tables, events and links. Silent if all is well.

import assert from 'node:assert/strict';
import { columnsOf, isHidden, itemIn, keyConditions, plainItem, textOf, unchanged } from './items.js';
import { placeOf } from './links.js';
import { format, here, parse, regionIn } from './route.js';
import { added, NOTHING } from './tail.js';
import { attributesOf, jsonProblem, opened } from './values.js';
import { distance, inZone, size } from './when.js';

// Items: numbers keep all digits, in texts and as values.
const exact = '12345678901234567890.12345';
const item = { k: { S: '</script>"' }, n: { N: exact }, small: { N: '1.5' }, m: { M: { a: { L: [{ N: exact }, { NULL: true }, { BOOL: false }] } } }, s: { NS: ['1', exact] }, b: { B: 'AP8=' } };
assert.equal(textOf(item.k), '</script>"');
assert.equal(textOf(item.m), `{"a": [${exact}, null, false]}`);
assert.equal(textOf(item.s), `{1, ${exact}}`);
assert.deepEqual(plainItem(item), { k: '</script>"', n: exact, small: 1.5, m: { a: [exact, null, false] }, s: [1, exact], b: 'AP8=' });
assert.ok(textOf({ L: Array.from({ length: 100000 }, () => ({ S: 'x'.repeat(100) })) }, 100).length < 110);
assert.equal(textOf({ S: 'abc' }, 3), 'abc');

// Columns: keys first, then the most frequent; a name that every object knows is only a name.
assert.deepEqual(columnsOf([{ k: { S: '1' }, b: { S: '' } }, { k: { S: '2' }, b: { S: '' }, constructor: { S: '' } }], ['k'], 2), { names: ['k', 'b'], more: 1 });
assert.deepEqual(columnsOf([], ['k', 'r'], 5), { names: ['k', 'r'], more: 0 });

// An item is written only as it was, and what is added was absent.
const check = unchanged({ k: { S: '1' }, 'odd name': { N: '2' } }, ['k'], { k: { S: '1' }, more: { S: 'x' } });
assert.equal(check.ConditionExpression, '#a0 = :v0 AND #a1 = :v1 AND attribute_not_exists(#n0)');
assert.deepEqual(check.ExpressionAttributeNames, { '#a0': 'k', '#a1': 'odd name', '#n0': 'more' });
assert.deepEqual(check.ExpressionAttributeValues, { ':v0': { S: '1' }, ':v1': { N: '2' } });
const masked = /** @type {any} */ ({ k: { S: '1' }, password: '•••', login: { M: { password: '•••' } } });
assert.deepEqual([textOf(masked.password), plainItem(masked)], ['•••', { k: '1', password: '•••', login: { password: '•••' } }]);
assert.deepEqual([isHidden(masked), isHidden({ k: { S: '1' } }), isHidden(undefined)], [true, false, false]);
assert.equal(unchanged(masked, ['k']).ConditionExpression, '#a0 = :v0');
assert.deepEqual(unchanged(null, ['k']), { ConditionExpression: 'attribute_not_exists(#k)', ExpressionAttributeNames: { '#k': 'k' } });
assert.throws(() => unchanged(Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`a${n}`, { S: '' }])), ['a0']), /over 200 attributes/);

// Conditions of keys; a comparison that does not exist is equality.
const keys = { hash: 'customer', range: 'order', types: { customer: 'S', order: 'N' } };
assert.deepEqual(keyConditions(keys, { pk: 'c', op: 'between', sk: '1', sk2: '2' }), {
  KeyConditionExpression: '#h = :h AND #r BETWEEN :r AND :s', ExpressionAttributeNames: { '#h': 'customer', '#r': 'order' },
  ExpressionAttributeValues: { ':h': { S: 'c' }, ':r': { N: '1' }, ':s': { N: '2' } },
});
assert.equal(keyConditions(keys, { pk: 'c', op: 'constructor', sk: '1' }).KeyConditionExpression, '#h = :h AND #r = :r');
assert.equal(keyConditions(keys, { pk: 'c' }).KeyConditionExpression, '#h = :h');

// Typed items need types.
assert.deepEqual(itemIn('{"k": {"S": "x"}}'), { k: { S: 'x' } });
for (const wrong of ['[]', 'null', '{"k": "x"}', '{"k": {"X": "x"}}', '{"k": {"S": "x", "N": "1"}}', '{"k": [1]}', '{']) assert.throws(() => itemIn(wrong));

// Links: only to pages that there are.
here.home = 'us-east-1';
const pages = { topics: {}, tables: {}, objects: {}, queue: {}, events: {}, execution: {} };
assert.deepEqual(placeOf('arn:aws:sns:us-east-1:0:orders', pages), { kind: 'topic', name: 'orders', address: '/console/topics/orders' });
assert.equal(placeOf('arn:aws:sqs:us-east-1:0:a b/</script>', pages).address, '/console/queue/a%20b%2F%3C%2Fscript%3E');
assert.equal(placeOf('arn:aws:lambda:us-east-1:0:function:f', pages).address, '');
assert.equal(placeOf('arn:aws:dynamodb:us-east-1:0:table/orders/index/i', pages).address, '/console/tables/orders');
assert.equal(placeOf('arn:aws:states:us-east-1:0:stateMachine:m:3', pages).address, '/console/executions?machine=arn%3Aaws%3Astates%3Aus-east-1%3A0%3AstateMachine%3Am');
assert.equal(placeOf('arn:aws:events:us-east-1:0:event-bus/shop', pages).address, '/console/events?bus=shop');
assert.equal(placeOf('arn:aws:events:us-east-1:0:rule/shop/all', pages).address, '/console/events?view=rules&bus=shop&q=all');
assert.equal(placeOf('javascript:alert(1)', pages).address, '');
assert.equal(placeOf('', pages).address, '');

// Regions: that of an ARN, else that of the address; links name it unless it is the server's own or that of their ARN.
const away = 'arn:aws:states:eu-west-1:0:execution:m:e';
assert.deepEqual([regionIn(parse(`/console/execution/${away}`, '?region=x')), regionIn(parse('/console/queues', '?region=eu-west-1')), regionIn(parse('/console', ''))], ['eu-west-1', 'eu-west-1', '']);
assert.equal(placeOf('arn:aws:sqs:eu-west-1:0:orders', pages).address, '/console/queue/orders?region=eu-west-1');
assert.equal(format('queues', '', { region: 'us-east-1' }), '/console/queues');
here.region = 'eu-west-1';
assert.deepEqual([format('queues'), format('queues', '', { q: 'a' }), format('execution', away), format('')], ['/console/queues?region=eu-west-1', '/console/queues?q=a&region=eu-west-1', `/console/execution/${away}`, '/console?region=eu-west-1']);
assert.equal(placeOf('arn:aws:sqs:us-east-1:0:orders', pages).address, '/console/queue/orders');
assert.equal(placeOf('arn:aws:s3:::reports', pages).address, '/console/objects/reports?region=eu-west-1');
here.region = '';

// The tail keeps the newest, and counts the rest.
const line = (/** @type {number} */ n, more = 0) => ({ events: Array.from({ length: n }, (_, place) => ({ atMs: place, bus: 'b', event: {}, isCut: false })), more });
let tail = added(NOTHING, line(0));
assert.equal(tail, NOTHING);
tail = added(added(NOTHING, line(3), 4), line(3, 7), 4);
assert.deepEqual([tail.rows.map((row) => row.number), tail.count, tail.dropped, tail.more], [[6, 5, 4, 3], 6, 2, 7]);

// Texts that may be JSON; long numbers would be changed, so they stay text.
assert.deepEqual(opened('{"a": 1}'), { a: 1 });
assert.equal(opened('{"a": 12345678901234567890}'), '{"a": 12345678901234567890}');
assert.deepEqual(opened('{"a": "12345678901234567890"}'), { a: '12345678901234567890' });
assert.equal(opened('{'), '{');
assert.equal(opened('12'), '12');
assert.equal(jsonProblem('{}'), '');
assert.notEqual(jsonProblem('{'), '');

// Attributes of messages.
assert.deepEqual(attributesOf('kind = placed=x\n\ntotal=1.5'), { kind: { DataType: 'String', StringValue: 'placed=x' }, total: { DataType: 'Number', StringValue: '1.5' } });
assert.throws(() => attributesOf('=x'), /name=value/);

// Times and sizes.
assert.deepEqual([0, 30_000, 7_200_000, 3 * 86_400_000].map((ms) => distance(1e12 + ms, 1e12)), ['0 s ago', 'in 30 s', 'in 2 h', 'in 3 d']);
assert.equal(inZone(0, 'Europe/Berlin'), 'Thu, 1 Jan 1970, 01:00:00');
assert.equal(inZone(0, 'Mars/Olympus'), 'Thu, 1 Jan 1970, 00:00:00 UTC');
assert.deepEqual([0, 512, 1536, 20 * 1024 * 1024].map(size), ['0 bytes', '512 bytes', '1.5 KB', '20 MB']);
