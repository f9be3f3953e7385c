"""Handlers for Node.js in virtual time: timers, dates, and calls to the system."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from typing import Any

import pytest

from statewright.virtual import VirtualSystem
from tests.unit.virtual.building import ROLE, counts, invoked, queue

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="`node` is not there")

HEAD = """
const http = require("node:http");
const { setTimeout: nap } = require("node:timers/promises");
const { promisify } = require("node:util");
const call = (operation, body) => new Promise((resolve, reject) => {
  const { hostname, port } = new URL(process.env.AWS_ENDPOINT_URL);
  const headers = { "content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS." + operation };
  const request = http.request({ host: hostname, port, method: "POST", path: "/", headers }, (answer) => {
    let text = "";
    answer.on("data", (piece) => (text += piece));
    answer.on("end", () => resolve(JSON.parse(text)));
  });
  request.on("error", reject);
  request.end(JSON.stringify(body));
});
exports.handler = async (event, context) => {
"""


def zipped(files: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return made.getvalue()


def function(system: VirtualSystem, name: str, body: str, timeout: int = 900) -> None:
    system.client("lambda").create_function(
        FunctionName=name, Runtime="nodejs20.x", Role=ROLE, Handler="index.handler", Timeout=timeout, MemorySize=512,
        Code={"ZipFile": zipped({"index.js": HEAD + body + "\n};\n"})},
    )  # fmt: skip


@pytest.fixture(scope="module")
def system():
    with VirtualSystem() as made:
        yield made


def told(system: VirtualSystem, name: str, body: str, timeout: int = 900) -> tuple[Any, int]:
    function(system, name, body, timeout)
    before = system.now_ms
    return invoked(system, name), system.now_ms - before


@pytest.mark.parametrize(
    ("name", "body", "milliseconds"),
    [
        ("timeout", "await new Promise((done) => setTimeout(done, 120000))", 120_000),
        ("promise", "await nap(300000)", 300_000),
        ("promisified", "await promisify(setTimeout)(7000)", 7_000),
        ("together", "await Promise.all([nap(5000), nap(20000), nap(10000)])", 20_000),
        ("race", "await Promise.race([nap(5000), nap(20000)])", 5_000),
        ("interval", "let n = 0; await new Promise((done) => { const i = setInterval(() => {"
                     " if (++n === 5) { clearInterval(i); done(); } }, 1000); })", 5_000),
        ("cleared", "const other = setTimeout(() => { throw new Error('late'); }, 1000); clearTimeout(other);"
                    "await nap(2000)", 2_000),
        ("files", "await require('node:fs').promises.readFile(__filename); await nap(1000)", 1_000),
    ],
)  # fmt: skip
def test_a_timer_takes_virtual_time_and_no_real_one(system, name, body, milliseconds):
    assert told(system, name, body) == (None, milliseconds)


def test_every_clock_tells_the_same_time(system):
    body = """
      const seen = [Date.now(), new Date().getTime(), Date.parse(Date()) + Date.now() % 1000];
      const ran = [performance.now(), Number(process.hrtime.bigint()) / 1e6];
      await nap(600000);
      return [seen, [Date.now(), new Date().getTime()],
        performance.now() - ran[0], Number(process.hrtime.bigint()) / 1e6 - ran[1],
        new Date() instanceof Date, new Date(0).toISOString(), context.getRemainingTimeInMillis()];
    """
    before = system.now_ms
    answer, _ = told(system, "clocks", body)
    seen, later, ran, precisely, is_date, epoch, left = answer
    assert seen == [before] * 3
    assert later == [before + 600_000] * 2
    assert 600_000 <= ran < 600_001
    assert 600_000 <= precisely < 600_001
    assert (is_date, epoch, left) == (True, "1970-01-01T00:00:00.000Z", 300_000)


def test_time_goes_on_while_a_handler_waits_for_the_system(system):
    queue(system, "held")
    body = """
      const { QueueUrl } = await call("GetQueueUrl", { QueueName: "held" });
      const began = Date.now();
      await call("ReceiveMessage", { QueueUrl, WaitTimeSeconds: 20 });
      return Date.now() - began;
    """
    assert told(system, "polls", body) == (20_000, 20_000)


def test_a_function_times_out_in_virtual_time(system):
    answer, took_ms = told(system, "late", "await nap(40000)", timeout=30)
    assert (answer["errorType"], took_ms) == ("Sandbox.Timedout", 30_000)


def test_who_is_faster_makes_no_difference():
    def written() -> list[str]:
        with VirtualSystem() as system:
            url = queue(system, "order")
            body = """
              const { QueueUrl } = await call("GetQueueUrl", { QueueName: "order" });
              for (let turn = 0; turn < 2; turn += 1) {
                await call("SendMessage", { QueueUrl, MessageBody: `${event.number} ${turn}` });
                await nap(1000 * (event.number % 2));
              }
            """
            function(system, "writes", body)
            for number in range(4):
                system.client("lambda").invoke(
                    FunctionName="writes", InvocationType="Event", Payload=json.dumps({"number": number})
                )
            system.run_until_idle()
            assert counts(system, url) == (8, 0, 0)
            found = system.call("sqs", "ReceiveMessage", {"QueueUrl": url, "MaxNumberOfMessages": 10})["Messages"]
            return [message["Body"] for message in found]

    assert written() == written()


def test_an_es_module_that_imports_from_a_layer_sleeps_in_virtual_time(system):
    """Hooks for imports run in a thread of their own, which must not keep time from passing."""
    client, files = system.client("lambda"), {"nodejs/node_modules/left/index.js": "exports.nap = 600e3"}
    layer = client.publish_layer_version(LayerName="shared", Content={"ZipFile": zipped(files)})["LayerVersionArn"]
    text = (
        "import { setTimeout as nap } from 'node:timers/promises'; import left from 'left';"
        "export const handler = async () => { await nap(left.nap); return 'rested' }"
    )
    client.create_function(
        FunctionName="module", Runtime="nodejs20.x", Role=ROLE, Handler="index.handler", Timeout=900,
        Code={"ZipFile": zipped({"index.mjs": text})}, Layers=[layer],
    )  # fmt: skip
    before = system.now_ms
    assert (invoked(system, "module"), (system.now_ms - before) // 1000) == ("rested", 600)
