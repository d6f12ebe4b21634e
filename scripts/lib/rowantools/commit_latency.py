# SPDX-License-Identifier: GPL-2.0-only
"""The latency of one durable single-row update per commit, by engine and sync method, beside bare
writes and syncs of the same disk.

One client over the unix socket sends ready-made packets and times each round trip alone; its own
cost is a few microseconds and the same for all. Slices of all candidates alternate, so that a disk
that changes its mood hurts all of them.
"""
import gc
import mmap
import os
import struct
import time
from dataclasses import dataclass, field

from .client import Client, MysqlError
from .paths import UserError

SYNC_METHODS = ("fsync", "fdatasync", "dsync", "direct_dsync", "uring")
_ROWS = 1000
_PROBE_FILE_BYTES = 16 << 20
_PROBE_WRITE_BYTES = 4096
_WARM_UP_COMMITS = 30
_DATABASE = "commit_latency"


@dataclass
class Candidate:
    """One row of the table; `samples_us` collects every round trip or write + sync."""
    title: str
    kind: str          # "raw", "engine" or "round trip"
    method: str = ""
    engine: str = ""
    samples_us: list = field(default_factory=list)
    cpu_s: float = 0.0
    problem: str = ""
    unavailable: str = ""  # why this machine does not offer it; not an error

    def figures(self):
        """Mean and percentiles in microseconds, or None without samples."""
        if not self.samples_us:
            return None
        ordered = sorted(self.samples_us)

        def share(part):
            return ordered[min(len(ordered) - 1, int(part * len(ordered)))]
        return {"count": len(ordered), "mean_us": sum(ordered) / len(ordered),
                "p50_us": share(0.50), "p95_us": share(0.95), "p99_us": share(0.99),
                "cpu_us": self.cpu_s * 1e6 / len(ordered) if self.kind != "raw" else None}


def candidates(engines, methods):
    """What to compare, in the order of the table."""
    rows = []
    for method in methods:
        if "rowan" in engines:
            rows.append(Candidate(f"Rowan, {method}", "engine", method, "rowan"))
        if method in _PROBE_FLAGS:
            rows.append(Candidate(f"bare write + {method}", "raw", method))
    if "innodb" in engines:
        rows.append(Candidate("InnoDB, its own method", "engine", "", "innodb"))
    rows.append(Candidate("round trip without a commit", "round trip"))
    return rows


class CommitLatency:
    """Measures the candidates in alternating slices."""

    def __init__(self, server, engines, methods):
        self._server = server
        self.rows = candidates(engines, methods)
        self._engines = engines
        self._probe_path = server.folder / "probe.file"

    def run(self, slice_s, rounds, progress):
        """`progress(done, total, title)` is called before each slice."""
        self._prepare()
        original_method = self._current_method()
        total = rounds * len(self.rows)
        for number in range(rounds):
            order = self.rows if number % 2 == 0 else self.rows[::-1]
            for position, row in enumerate(order):
                progress(number * len(order) + position, total, row.title)
                if not (row.problem or row.unavailable):
                    self._slice(row, slice_s)
        self._restore(original_method)
        return self.rows

    def _slice(self, row, slice_s):
        try:
            if row.kind == "raw":
                row.samples_us += _probe(self._probe_path, row.method, slice_s)
                return
            if row.engine == "rowan" and not self._set_method(row):
                return
            self._commits(row, slice_s)
        except (OSError, MysqlError) as error:
            row.problem = str(error)

    def _prepare(self):
        with self._server.client() as client:
            client.execute(f"DROP DATABASE IF EXISTS {_DATABASE}")
            client.execute(f"CREATE DATABASE {_DATABASE}")
            for engine in self._engines:
                client.execute(f"CREATE TABLE {_DATABASE}.{engine} (id INT PRIMARY KEY, k INT, "
                               f"pad CHAR(60)) ENGINE={engine}")
                rows = ", ".join(f"({number}, 0, 'x')" for number in range(_ROWS))
                client.execute(f"INSERT INTO {_DATABASE}.{engine} VALUES {rows}")
        with open(self._probe_path, "wb") as stream:
            stream.write(b"\0" * _PROBE_FILE_BYTES)
            os.fsync(stream.fileno())

    def _commits(self, row, slice_s):
        statement = "DO 0" if row.kind == "round trip" else \
            f"UPDATE {_DATABASE}.{row.engine} SET k = k + 1 WHERE id = "
        packets = [query_packet(statement + (str(number) if row.engine else ""))
                   for number in range(_ROWS)]
        with Client(self._server.socket) as client:
            for packet in packets[:_WARM_UP_COMMITS]:
                round_trip(client.raw_socket, packet)
            cpu_before = self._server.cpu_seconds()
            row.samples_us += timed_loop(client.raw_socket, packets, slice_s)
            row.cpu_s += self._server.cpu_seconds() - cpu_before

    def _set_method(self, row):
        """False if this machine does not offer the method; the row then says why."""
        with self._server.client() as client:
            try:
                client.execute(f"SET GLOBAL rowan_log_sync_method = {row.method}")
                return True
            except MysqlError as error:
                row.unavailable = error.message
                return False

    def _current_method(self):
        if "rowan" not in self._engines:
            return None
        with self._server.client() as client:
            return client.value("SELECT @@GLOBAL.rowan_log_sync_method")

    def _restore(self, method):
        with self._server.client() as client:
            if method:
                client.execute(f"SET GLOBAL rowan_log_sync_method = {method}")
            client.execute(f"DROP DATABASE {_DATABASE}")
        self._probe_path.unlink(missing_ok=True)


def query_packet(statement):
    body = b"\x03" + statement.encode()
    return struct.pack("<I", len(body))[:3] + b"\0" + body


def round_trip(connection, packet):
    connection.sendall(packet)
    reply = connection.recv(4096)
    if len(reply) < 5 or reply[4] != 0:
        raise UserError(f"a statement of the latency test failed: {reply[13:200]!r}")


def timed_loop(connection, packets, slice_s):
    clock, samples = time.perf_counter_ns, []
    send, receive = connection.sendall, connection.recv
    deadline = clock() + int(slice_s * 1e9)
    gc.disable()
    try:
        end, number = clock(), 0
        while end < deadline:
            packet = packets[number % _ROWS]
            number += 1
            start = clock()
            send(packet)
            reply = receive(4096)
            end = clock()
            if reply[4] != 0:
                raise UserError(f"a commit of the latency test failed: {reply[13:200]!r}")
            samples.append((end - start) / 1000.0)
    finally:
        gc.enable()
    return samples


# method: (flags to open with, function that syncs after the write)
_PROBE_FLAGS = {
    "fsync": (0, os.fsync),
    "fdatasync": (0, os.fdatasync),
    "dsync": (os.O_DSYNC, None),
    "direct_dsync": (os.O_DSYNC | os.O_DIRECT, None),
}


def _probe(path, method, slice_s):
    """Bare 4 KiB writes into a file that is written through already, each made durable."""
    flags, sync = _PROBE_FLAGS[method]
    block = mmap.mmap(-1, _PROBE_WRITE_BYTES)
    block.write(b"r" * _PROBE_WRITE_BYTES)
    file = os.open(path, os.O_WRONLY | flags)
    clock, samples, offset = time.perf_counter_ns, [], 0
    deadline = clock() + int(slice_s * 1e9)
    gc.disable()
    try:
        end = clock()
        while end < deadline:
            start = clock()
            os.pwrite(file, block, offset)
            if sync:
                sync(file)
            end = clock()
            samples.append((end - start) / 1000.0)
            offset = (offset + _PROBE_WRITE_BYTES) % _PROBE_FILE_BYTES
    finally:
        gc.enable()
        os.close(file)
    return samples
