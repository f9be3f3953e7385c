"""Objects over HTTP: how fast and at what CPU they are put, got and listed, against a fresh server.

    python bench/objects.py [--mib 1] [--count 200] [--small 10000] [--connections 1] [--versions] [--store sqlite]

Figures are by the server's own CPU time (`/metrics`), because rates change with the load of the machine.
"""

from __future__ import annotations

import argparse
import http.client
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit
from zlib import crc32

MIB = 1024 * 1024


class Server:
    """A server process on a free port, with its data in a temporary folder."""

    def __init__(self, folder: str, store: str) -> None:
        command = [sys.executable, "-m", "statewright.cli.main", "serve", "--port", "0", "--data", f"{folder}/data"]
        command += ["--store", store]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = urlsplit(self.process.stdout.readline().split()[4]).netloc

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.address)

    def figure(self, name: str) -> float:
        connection = self.connect()
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return next(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))

    def resident_mib(self) -> float:
        return self.figure("process_resident_memory_bytes") / MIB


def call(connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None = None, **headers: str):
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status in (200, 204, 206), (answer.status, content[:300])
    return content


def measure(server: Server, title: str, units: float, unit: str, work: Callable[[], None]) -> None:
    cpu, started = server.figure("process_cpu_seconds_total"), time.perf_counter()
    work()
    seconds, used = time.perf_counter() - started, server.figure("process_cpu_seconds_total") - cpu
    print(
        f"{title:34} {units / seconds:10,.0f} {unit}/s {used / units * 1e6:10,.0f} us CPU/{unit}"
        f"   {server.resident_mib():6.0f} MiB RSS"
    )


def spread(server: Server, many: int, connections: int, one: Callable[[http.client.HTTPConnection, int], None]):
    def work(first: int) -> None:
        connection = server.connect()
        for number in range(first, many, connections):
            one(connection, number)
        connection.close()

    def run() -> None:
        threads = [threading.Thread(target=work, args=(first,)) for first in range(connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=1, help="size of a large object")
    parser.add_argument("--count", type=int, default=200, help="how many large objects")
    parser.add_argument("--small", type=int, default=10_000, help="how many small objects")
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--versions", action="store_true", help="put into a bucket with versions, too")
    parser.add_argument("--store", default="sqlite", help="sqlite, or the address of an empty PostgreSQL database")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, given.store)
        try:
            run(server, given)
        finally:
            server.process.terminate()
            server.process.wait()


def run(server: Server, given: argparse.Namespace) -> None:
    size, many, connections = given.mib * MIB, given.count, given.connections
    body = os.urandom(size)
    check = crc32(body).to_bytes(4, "big")
    import base64

    sent = base64.b64encode(check).decode()
    connection = server.connect()
    call(connection, "PUT", "/bucket")
    print(f"objects of {given.mib} MiB, {connections} connection(s), {server.resident_mib():.0f} MiB RSS at rest")

    def put(of: http.client.HTTPConnection, number: int) -> None:
        call(of, "PUT", f"/bucket/large/{number:06}", body, x_amz_checksum_crc32=sent)

    def get(of: http.client.HTTPConnection, number: int) -> None:
        assert len(call(of, "GET", f"/bucket/large/{number:06}")) == size

    def put_small(of: http.client.HTTPConnection, number: int) -> None:
        call(of, "PUT", f"/bucket/small/{number:06}", b"x" * 1000)

    def get_small(of: http.client.HTTPConnection, number: int) -> None:
        call(of, "GET", f"/bucket/small/{number:06}")

    def list_all() -> None:
        start, pages = "", 0
        while True:
            page = call(connection, "GET", f"/bucket?list-type=2&prefix=small/&start-after={start}").decode()
            pages += 1
            if "<IsTruncated>true" not in page:
                break
            start = page.rpartition("<Key>")[2].partition("<")[0]
        assert pages >= given.small // 1000

    mib = many * given.mib
    measure(server, "put", mib, "MiB", spread(server, many, connections, put))
    measure(server, "get", mib, "MiB", spread(server, many, connections, get))
    measure(server, "put 1,000 bytes, 1 connection", 1000, "object", spread(server, 1000, 1, put_small))
    measure(
        server, "put 1,000 bytes, 16 connections", given.small, "object", spread(server, given.small, 16, put_small)
    )
    got = min(2000, given.small)
    measure(server, "get 1,000 bytes", got, "object", spread(server, got, 1, get_small))
    measure(server, "list pages of 1,000", given.small, "key", list_all)
    if given.versions:
        put_versions(server, given.small)


def put_versions(server: Server, many: int) -> None:
    """New keys in a bucket with versions, then a second version of each."""
    connection = server.connect()
    call(connection, "PUT", "/versions")
    enabled = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
    call(connection, "PUT", "/versions?versioning", enabled)

    def put(of: http.client.HTTPConnection, number: int) -> None:
        call(of, "PUT", f"/versions/small/{number:06}", b"x" * 1000)

    measure(server, "put of a new key with versions, 16", many, "object", spread(server, many, 16, put))
    measure(server, "put of a second version, 16", many, "object", spread(server, many, 16, put))


if __name__ == "__main__":
    main()
