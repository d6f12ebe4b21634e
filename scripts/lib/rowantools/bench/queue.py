# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench queue: a table used as a queue. Clients put a row at the end and take the one at
the front, another session reads the first rows again and again; with an old snapshot open nothing
of what was taken can be forgotten, and what matters is whether reads and takes become slower."""
import statistics
import time
from functools import partial

from . import database
from .histogram import Latencies
from .load import Load
from .measuring import observe, per_operation, run_of, stalls
from .queries import create, fill
from .workload import Case, Workload

_READ = "SELECT id, topic, body FROM queue ORDER BY id LIMIT 10"
_PAUSE_S = 0.003
_QUIET_S = 0.5
_CASES = (("no old snapshot", False), ("an old snapshot open", True))


class Queue(Workload):
    """Latencies are those of the reads."""
    columns = ("events_per_s", "p50", "p95", "p99", "max", "last_us", "quiet_us", "cpu", "cs",
               "wkb", "retries", "stalls")

    def groups(self):
        return [("queue", f"A queue of {self.options.rows:,} rows, {self.options.threads} clients; "
                 "latencies are of reads of its front")]

    def cases(self):
        return [Case(name, "queue", name, "events_per_s", self.options.time + 2,
                     partial(self._one_run, snapshot)) for name, snapshot in _CASES]

    def _one_run(self, snapshot, target, tell):
        self._fill(target)
        with database.connect(target) as reader, database.connect(target) as old:
            quiet = _read(reader, time.monotonic() + _QUIET_S)
            if snapshot:
                _open_snapshot(old)
            with observe(target, self.session.data_folder(target)) as sampler:
                load = Load(target, "queue_table.lua",
                            {"threads": self.options.threads, "events": 0,
                             "time": self.options.time}).start()
                try:
                    samples = _read(reader, time.monotonic() + self.options.time - 0.2)
                    report = load.finish()
                finally:
                    load.stop()
            old.execute("ROLLBACK")
        return self._run(report, samples, quiet, sampler)

    def _run(self, report, samples, quiet, sampler):
        cost = per_operation(sampler, report.events)
        last = samples[-max(1, len(samples) // 4):]
        report.latencies = Latencies()
        for sample in samples:
            report.latencies.record(sample)
        metrics = dict(report.latencies.figures(), events_per_s=report.events / report.seconds,
                       last_us=statistics.median(last), quiet_us=statistics.median(quiet),
                       cpu=cost["cpu"], cs=cost["cs"], wkb=cost["wkb"],
                       retries=sum(report.retries.values()),
                       stalls=stalls(report.events_by_second))
        return run_of(report, metrics, report.events_by_second)

    def _fill(self, target):
        number = "BIGINT AUTO_INCREMENT" if target.protocol == "mysql" else "BIGSERIAL"
        with database.connect(target) as connection:
            create(connection, target, "queue", f"id {number} PRIMARY KEY, topic INT NOT NULL, "
                   "body CHAR(60) NOT NULL")
            connection.execute("CREATE INDEX topic ON queue (topic)")
            fill(connection, "queue (topic, body)",
                 ((number, "x") for number in range(self.options.rows)))


def _open_snapshot(connection):
    if connection.protocol == "mysql":
        connection.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("BEGIN")
    else:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    connection.execute("SELECT COUNT(*) FROM queue")


def _read(connection, end):
    """Microseconds of each read until `end`; at least one."""
    samples = []
    while not samples or time.monotonic() < end:
        start = time.perf_counter()
        connection.execute(_READ)
        samples.append((time.perf_counter() - start) * 1e6)
        time.sleep(_PAUSE_S)
    return samples
