# SPDX-License-Identifier: GPL-2.0-only
"""scripts/queue-table: a table used as a queue, with and without an old snapshot open, Rowan beside
InnoDB in one server.

sysbench runs bench/queue_table.lua: each event puts a row at the end and takes the one at the
front. Beside it one session reads the first rows with a fresh snapshot again and again. With an old
snapshot open nothing of what was taken since can be forgotten for good, and what matters is
whether reads and takes from the front become slower the longer it is open."""
import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

from .paths import ROOT, UserError, run_main
from .scratch_folder import add_folder_option, scratch_folder
from .server import Server
from .sysbench import client_environment

_DATABASE = "queue_table"
_READ = "SELECT id, topic, body FROM {} ORDER BY id LIMIT 10"
_READ_PAUSE_S = 0.003
_OPTIONS = ["--performance-schema=OFF", "--innodb-redo-log-capacity=256M",
            "--loose-rowan-redo-log-capacity=256M", "--innodb-flush-log-at-trx-commit=0",
            "--loose-rowan-flush-log-at-trx-commit=0"]


@dataclass
class Figures:
    """One run of one engine: events a second, and latencies of the reads, in microseconds."""
    engine: str
    old_snapshot: bool
    quiet_us: float       # median while nothing else runs
    events_per_s: float
    median_us: float
    p95_us: float
    last_us: float        # median of the last quarter of the run
    history: int


class QueueTable:
    """The measurement on one server."""

    def __init__(self, folder, options):
        self._options = options
        self._server = Server(folder / "server", buffer_pool="256M", options=_OPTIONS)
        self._program = self._server.tree.program("sysbench")

    def run(self):
        """{(engine, old snapshot): [Figures]}, the engines in turn."""
        figures = []
        try:
            self._server.start()
            with self._server.client() as client:
                client.execute(f"CREATE DATABASE {_DATABASE}")
            for _ in range(self._options.rounds):
                for old_snapshot in (False, True):
                    for engine in ("ROWAN", "INNODB"):
                        figures.append(self._measure(engine, old_snapshot))
                        print(_line(figures[-1]), flush=True)
        finally:
            self._server.destroy()
        return figures

    def _measure(self, engine, old_snapshot):
        self._fill(engine)
        with self._server.client(_DATABASE) as reader, self._server.client(_DATABASE) as old:
            for _ in range(50):
                reader.query(_READ.format("queue"))
            quiet = self._read(reader, time.monotonic() + 0.5)
            if old_snapshot:
                old.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                old.execute("BEGIN")
                old.query("SELECT COUNT(*) FROM queue")
            load = self._start_load()
            samples = self._read(reader, time.monotonic() + self._options.time - 0.2)
            events_per_s = _events_per_s(load.communicate(timeout=600)[0])
            history = int(reader.query("SHOW GLOBAL STATUS LIKE 'Rowan_history_list_length'")[0][1])
            old.execute("ROLLBACK")
        last = samples[-max(1, len(samples) // 4):]
        return Figures(engine, old_snapshot, _quantile(quiet, 0.5), events_per_s,
                       _quantile(samples, 0.5), _quantile(samples, 0.95), _quantile(last, 0.5),
                       history)

    def _fill(self, engine):
        with self._server.client(_DATABASE) as client:
            client.execute("DROP TABLE IF EXISTS queue")
            client.execute("CREATE TABLE queue (id BIGINT AUTO_INCREMENT PRIMARY KEY, topic INT "
                           f"NOT NULL, body CHAR(60) NOT NULL, KEY (topic)) ENGINE = {engine}")
            client.execute("INSERT INTO queue (topic, body) VALUES " +
                           ", ".join(f"({number}, 'x')" for number in range(1000)))

    def _start_load(self):
        arguments = [str(self._program), str(ROOT / "bench" / "queue_table.lua"),
                     f"--mysql-socket={self._server.socket}", "--mysql-user=root",
                     f"--mysql-db={_DATABASE}", f"--threads={self._options.threads}", "--events=0",
                     f"--time={self._options.time}", "--mysql-ignore-errors=1213,1205", "run"]
        environment = dict(os.environ, **client_environment(self._program))
        return subprocess.Popen(arguments, env=environment, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    @staticmethod
    def _read(client, end):
        """Microseconds of each read until `end`."""
        samples = []
        statement = _READ.format("queue")
        while time.monotonic() < end:
            start = time.perf_counter()
            client.query(statement)
            samples.append((time.perf_counter() - start) * 1e6)
            time.sleep(_READ_PAUSE_S)
        return samples


def _quantile(samples, share):
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def _events_per_s(report):
    found = re.search(r"total number of events:\s+(\d+)", report)
    seconds = re.search(r"total time:\s+([\d.]+)s", report)
    if not found or not seconds:
        raise UserError(f"sysbench printed no report:\n{report[-600:]}")
    return int(found.group(1)) / float(seconds.group(1))


_TITLES = ("engine", "old snapshot", "events/s", "read p50 us", "p95", "p50 at the end",
           "p50 without load", "history")


def _cells(figures):
    return (figures.engine, "open" if figures.old_snapshot else "none",
            f"{figures.events_per_s:,.0f}", f"{figures.median_us:,.0f}", f"{figures.p95_us:,.0f}",
            f"{figures.last_us:,.0f}", f"{figures.quiet_us:,.0f}", f"{figures.history:,}")


def _line(figures):
    return " | ".join(_cells(figures))


def _table(all_figures):
    """Medians of the rounds as a Markdown table."""
    lines = ["| " + " | ".join(_TITLES) + " |", "|" + "---|" * len(_TITLES)]
    for old_snapshot in (False, True):
        for engine in ("ROWAN", "INNODB"):
            runs = [figures for figures in all_figures
                    if (figures.engine, figures.old_snapshot) == (engine, old_snapshot)]
            middle = [statistics.median(getattr(run, name) for run in runs) for name in
                      ("quiet_us", "events_per_s", "median_us", "p95_us", "last_us", "history")]
            figures = Figures(engine, old_snapshot, *middle[:5], int(middle[5]))
            lines.append("| " + _line(figures) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/queue-table",
        description="A table used as a queue: events a second (a put and a take) and latency of "
                    "reads of its front, with and without an old snapshot, Rowan and InnoDB.")
    add_folder_option(parser)
    parser.add_argument("--time", type=int, default=10, help="seconds of a run (default 10)")
    parser.add_argument("--threads", type=int, default=4, help="sysbench clients (default 4)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds (default 3)")
    options = parser.parse_args()
    with scratch_folder(parser, options) as folder:
        print(_table(QueueTable(folder, options).run()))
    return 0


if __name__ == "__main__":
    sys.exit(run_main(main, "queue-table"))
