# SPDX-License-Identifier: GPL-2.0-only
"""scripts/sync-cost: latency and system calls of one durable commit through mysqld, by engine and
sync method, with and without the binlog, in a folder on the disk to be measured.

One client updates single rows by primary key. Slices of all candidates alternate and the median of
the slices' medians is shown, so that a disk that changes its mood hurts all of them alike. System
calls are counted by strace in a run of their own."""
import argparse
import re
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from .client import Client, MysqlError
from .commit_latency import SYNC_METHODS, query_packet, round_trip, timed_loop
from .paths import UserError, run_main
from .server import Server

_ROWS = 1000
_WARM_UP_COMMITS = 10
_SETTLE_S = 5.0  # until the background has written what the slices made dirty
_DATABASE = "sync_cost"
_TRACED_CALLS = ("write", "pwrite64", "pwritev", "pwritev2", "io_submit", "io_uring_enter",
                 "fsync", "fdatasync", "fallocate", "ftruncate")
_OPTIONS = ["--performance-schema=OFF", "--innodb-redo-log-capacity=256M",
            "--loose-rowan-redo-log-capacity=256M", "--innodb-flush-log-at-trx-commit=1",
            "--sync-binlog=1"]


@dataclass
class Candidate:
    """One engine with one way to sync; `setting` is run before each slice."""
    title: str
    engine: str
    setting: str
    flush_method: str = "O_DIRECT"
    best_us: list = field(default_factory=list)
    medians_us: list = field(default_factory=list)
    p99_us: list = field(default_factory=list)
    calls: dict = field(default_factory=dict)
    resized: int = 0     # log files whose size or blocks changed while calls were counted
    refused: str = ""


def _candidates():
    rows = [Candidate(f"Rowan {method}", "rowan", f"SET GLOBAL rowan_log_sync_method = {method}")
            for method in SYNC_METHODS]
    rows += [Candidate("InnoDB fsync", "innodb", "SET GLOBAL innodb_use_fdatasync = OFF"),
             Candidate("InnoDB fdatasync", "innodb", "SET GLOBAL innodb_use_fdatasync = ON"),
             Candidate("InnoDB O_DSYNC", "innodb", "DO 0", "O_DSYNC")]
    return rows


class SyncCost:
    """The measurement with one setting of the binlog."""

    def __init__(self, folder, binlog, options):
        self._options, self.binlog = options, binlog
        self.rows = _candidates()
        self._servers = {}
        for method in ("O_DIRECT", "O_DSYNC"):
            self._servers[method] = Server(folder / f"server-{method.lower()}", binlog=binlog,
                                           buffer_pool="128M", install_plugin=method == "O_DIRECT",
                                           options=_OPTIONS + [f"--innodb-flush-method={method}"])

    def run(self):
        try:
            for server in self._servers.values():
                server.start()
                self._fill(server)
            for number in range(self._options.rounds):
                order = self.rows if number % 2 == 0 else self.rows[::-1]
                for row in order:
                    self._slice(row)
            if self._options.trace:
                time.sleep(_SETTLE_S)
                for row in self.rows:
                    self._trace(row)
        finally:
            for server in self._servers.values():
                server.destroy()

    def _fill(self, server):
        with server.client() as client:
            client.execute(f"CREATE DATABASE {_DATABASE}")
            rows = ", ".join(f"({number}, 0, 'x')" for number in range(_ROWS))
            for engine in ("rowan", "innodb") if server.install_plugin else ("innodb",):
                client.execute(f"CREATE TABLE {_DATABASE}.{engine} (id INT PRIMARY KEY, k INT, "
                               f"pad CHAR(60)) ENGINE = {engine}")
                client.execute(f"INSERT INTO {_DATABASE}.{engine} VALUES {rows}")

    def _packets(self, row):
        return [query_packet(f"UPDATE {_DATABASE}.{row.engine} SET k = k + 1 WHERE id = {number}")
                for number in range(_ROWS)]

    def _connect(self, row):
        """A session with the candidate's setting in force and some commits behind it."""
        client = Client(self._servers[row.flush_method].socket)
        client.execute(row.setting)
        for packet in self._packets(row)[:_WARM_UP_COMMITS]:
            round_trip(client.raw_socket, packet)
        return client

    def _slice(self, row):
        if row.refused:
            return
        try:
            with self._connect(row) as client:
                samples = sorted(timed_loop(client.raw_socket, self._packets(row),
                                            self._options.slice))
        except MysqlError as error:
            row.refused = error.message
            return
        row.best_us.append(samples[len(samples) // 10])
        row.medians_us.append(samples[len(samples) // 2])
        row.p99_us.append(samples[int(len(samples) * 0.99)])

    def _trace(self, row):
        if row.refused:
            return
        server = self._servers[row.flush_method]
        output = server.folder / "strace.txt"
        with self._connect(row) as client:
            before = _log_files(server, row.engine)
            tracer = subprocess.Popen(["strace", "-f", "-c", "-o", str(output), "-p",
                                       str(server.pid()), "-e",
                                       "trace=" + ",".join(_TRACED_CALLS)],
                                      stderr=subprocess.DEVNULL)
            time.sleep(1.0)  # strace attaches to every thread before it says anything
            for packet in self._packets(row)[:self._options.commits]:
                round_trip(client.raw_socket, packet)
            tracer.send_signal(2)
            tracer.wait(30)
            after = _log_files(server, row.engine)
        row.resized = sum(1 for name, facts in before.items() if after.get(name, facts) != facts)
        row.calls = _parse_counts(output.read_text())


def _log_files(server, engine):
    """{file of the redo log: (size, blocks)}"""
    pattern = "rowan/redo_*" if engine == "rowan" else "#innodb_redo/*"
    return {path.name: (path.stat().st_size, path.stat().st_blocks)
            for path in server.data.glob(pattern)}


def _parse_counts(text):
    """{system call: count} of strace's summary."""
    counts = {}
    for line in text.splitlines():
        found = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", line)
        if found and found.group(2) != "total":
            counts[found.group(2)] = int(found.group(1))
    return counts


# --- tables ---

def _latency_table(runs):
    lines = [f"{'one durable update':22}" + "".join(f"{_binlog(run):>36}" for run in runs),
             f"{'':22}" + f"{'p10 us':>14}{'p50 us':>11}{'p99 us':>11}" * len(runs)]
    for rows in zip(*(run.rows for run in runs)):
        line = f"{rows[0].title:22}"
        for row in rows:
            if row.refused:
                line += f"{'refused':>36}"
                continue
            best, middle, most = (statistics.median(figures) for figures in
                                  (row.best_us, row.medians_us, row.p99_us))
            line += f"{best:14.0f}{middle:11.0f}{most:11.0f}"
        lines.append(line)
    return "\n".join(lines)


def _calls_table(run, commits):
    used = [call for call in _TRACED_CALLS if any(row.calls.get(call) for row in run.rows)]
    used += [call for call in ("fallocate", "ftruncate") if call not in used]
    lines = [f"system calls per commit, {_binlog(run)}",
             f"{'':22}" + "".join(f"{call:>15}" for call in used) + f"{'resized files':>15}"]
    for row in run.rows:
        if not row.refused:
            lines.append(f"{row.title:22}" + "".join(
                f"{row.calls.get(call, 0) / commits:15.2f}" for call in used)
                + f"{row.resized:15}")
    return "\n".join(lines)


def _binlog(run):
    return "binlog on" if run.binlog else "binlog off"


def _parse():
    parser = argparse.ArgumentParser(
        prog="scripts/sync-cost",
        description="Latency and system calls of one durable single-row update through mysqld, one "
                    "client, Rowan's sync methods beside InnoDB's, binlog off and on.")
    parser.add_argument("--dir", required=True, type=Path,
                        help="folder on the disk to measure; the servers live there meanwhile")
    parser.add_argument("--rounds", type=int, default=30, help="alternations (default 30)")
    parser.add_argument("--slice", type=float, default=0.15, metavar="S",
                        help="seconds per candidate and round (default 0.15)")
    parser.add_argument("--commits", type=int, default=400,
                        help="commits whose system calls are counted (default 400)")
    parser.add_argument("--no-trace", dest="trace", action="store_false",
                        help="leave strace out")
    return parser.parse_args()


def main():
    options = _parse()
    if options.trace and not shutil.which("strace"):
        raise UserError("strace is not installed; --no-trace goes without it")
    if not 1 <= options.commits <= _ROWS:
        raise UserError(f"--commits is a number from 1 to {_ROWS}")
    folder = options.dir / "rowan-sync-cost"
    folder.mkdir(parents=True, exist_ok=True)
    runs = []
    try:
        for binlog in (False, True):
            runs.append(SyncCost(folder, binlog, options))
            runs[-1].run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{options.rounds} alternating slices of {options.slice:g} s, medians\n\n"
          + _latency_table(runs))
    if options.trace:
        for run in runs:
            print("\n" + _calls_table(run, options.commits))
    return 0


if __name__ == "__main__":
    sys.exit(run_main(main, "sync-cost"))
