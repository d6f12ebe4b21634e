# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench queue: a table used as a queue. Clients put a row at the end and take the one at
the front, another session reads the first rows again and again; with an old snapshot open nothing
of what was taken can be forgotten, and what matters is whether reads and takes become slower."""
import statistics
import time

from . import database
from .histogram import Latencies
from .load import Load
from .measuring import observe, per_operation, run_of, stalls
from .queries import fill

COLUMNS = ("events_per_s", "p50", "p95", "p99", "max", "last_us", "quiet_us", "cpu", "cs", "wkb",
           "retries", "stalls")
_READ = "SELECT id, topic, body FROM queue ORDER BY id LIMIT 10"
_PAUSE_S = 0.003
_QUIET_S = 0.5
_CASES = (("no old snapshot", False), ("an old snapshot open", True))


class Queue:
    """`options`: threads, rows, time. Latencies are those of the reads."""

    def __init__(self, session, options):
        self._session, self._options = session, options

    def run(self):
        session, options = self._session, self._options
        session.result.add_group("queue", f"A queue of {options.rows:,} rows, {options.threads} "
                                 "clients; latencies are of reads of its front")
        for name, _ in _CASES:
            session.result.add_test(name, "queue", name, "events_per_s")
        session.result.set_columns(COLUMNS)
        session.open_targets()
        planned = options.time + 2
        session.plan("queue", 2 * planned * session.request.rounds * len(session.targets))
        for name, snapshot in _CASES:
            session.take_turns(name, planned, lambda target, tell, snapshot=snapshot:
                               self._one_run(target, snapshot))

    def _one_run(self, target, snapshot):
        self._fill(target)
        with database.connect(target) as reader, database.connect(target) as old:
            quiet = _read(reader, time.monotonic() + _QUIET_S)
            if snapshot:
                _open_snapshot(old)
            with observe(target, self._session.data_folder(target)) as sampler:
                load = Load(target, "queue_table.lua",
                            {"threads": self._options.threads, "events": 0,
                             "time": self._options.time}).start()
                try:
                    samples = _read(reader, time.monotonic() + self._options.time - 0.2)
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
        is_mysql = target.protocol == "mysql"
        number = "BIGINT AUTO_INCREMENT" if is_mysql else "BIGSERIAL"
        engine = f"ENGINE = {target.engine}" if is_mysql else ""
        with database.connect(target) as connection:
            connection.execute("DROP TABLE IF EXISTS queue")
            connection.execute(f"CREATE TABLE queue (id {number} PRIMARY KEY, topic INT NOT NULL, "
                               f"body CHAR(60) NOT NULL) {engine}")
            connection.execute("CREATE INDEX topic ON queue (topic)")
            fill(connection, "queue (topic, body)",
                 ((number, "x") for number in range(self._options.rows)))


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
