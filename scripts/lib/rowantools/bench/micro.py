# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench micro: single statements and sysbench's transactions, one kind at a time."""
from ..progress import Step
from . import database
from .instructions import Instructions, why_not
from .load import Load
from .measuring import latency_metrics, observe, per_operation, run_of, stalls
from .micro_tests import GROUPS, SETS

COLUMNS = ("qps", "rows_per_s", "cpu", "client_cpu", "cs", "r", "rkb", "wkb", "o", "instructions",
           "retries", "p50", "p95", "p99", "p999", "max", "worst_second_ms", "stalls")
_OVERHEAD_S = 1.0       # of a run: connecting, calming down
_ROWS_PER_S = 60_000    # loaded, for the plan


class Micro:
    """`options`: set, tables, rows, threads (a list), time, warm, rate, tests (names or None)."""

    def __init__(self, session, options):
        self._session, self._options = session, options
        self._tests = [test for test in SETS[options.set]
                       if not options.tests or test.name in options.tests]

    def run(self):
        session, options = self._session, self._options
        for name, title in GROUPS:
            session.result.add_group(name, title)
        for test in self._tests:
            for threads in options.threads:
                session.result.add_test(
                    self._name(test, threads), test.group, self._name(test, threads),
                    "rows_per_s" if test.kind == "scan" else "qps", threads=threads)
        session.result.set_columns(COLUMNS)
        if options.instructions and why_not():
            session.result.note(f"Instructions a query are missing. {why_not()} "
                                "scripts/bench instructions counts them with valgrind.")
        session.open_targets()
        self._load()
        session.plan("micro", self._planned_s())
        self._warm_up()
        wrote = False
        for test in self._tests:
            if wrote and not test.is_write:
                self._settle_all()
            wrote = test.is_write
            self._measure(test)

    def _name(self, test, threads):
        return test.name if len(self._options.threads) == 1 else f"{test.name} x{threads}"

    def _planned_s(self):
        options = self._options
        return len(self._tests) * len(options.threads) * self._session.request.rounds * len(
            self._session.targets) * (options.time + _OVERHEAD_S)

    def _load(self):
        options = self._options
        for target in self._session.targets:
            with Step(f"loading {options.tables} x {options.rows:,} rows into {target.name}"):
                Load(target, "micro.lua",
                     {"rows": options.rows, "tables": options.tables, "engine": target.engine
                      if target.protocol == "mysql" else "", "threads":
                      min(options.tables, max(options.threads))}, "prepare").run()
                self._analyze(target)

    def _analyze(self, target):
        with database.connect(target) as connection:
            for number in range(1, self._options.tables + 1):
                connection.execute(f"VACUUM ANALYZE sbtest{number}" if target.protocol ==
                                   "postgres" else f"ANALYZE TABLE sbtest{number}")

    def _warm_up(self):
        """Every page of the tables and their indexes is read once."""
        for target in self._session.targets:
            with database.connect(target) as connection:
                for number in range(1, self._options.tables + 1):
                    connection.execute(f"SELECT COUNT(*) FROM sbtest{number} WHERE LENGTH(c) < 0")
                    connection.execute(f"SELECT COUNT(k) FROM sbtest{number} WHERE k > 0")

    def _settle_all(self):
        for target in self._session.targets:
            self._session.settle(target)

    def _measure(self, test):
        for threads in self._options.threads:
            self._session.take_turns(
                self._name(test, threads), self._options.time + _OVERHEAD_S,
                lambda target, tell, test=test, threads=threads:
                self._one_run(test, threads, target, tell))

    def _one_run(self, test, threads, target, tell):
        options = self._options
        self._session.settle(target)
        arguments = {"kind": test.kind, "range": test.rows, "rows": options.rows,
                     "tables": options.tables, "threads": threads, "events": 0,
                     "time": options.time, "rand_type": "uniform"}
        if options.rate:
            arguments["rate"] = options.rate
        load = Load(target, "micro.lua", arguments)
        with observe(target, self._session.data_folder(target)) as sampler, \
                Instructions(target.pid if options.instructions else 0) as counted:
            report = load.run(tell)
        rate = report.queries / report.seconds if report.seconds else None
        metrics = dict(per_operation(sampler, report.queries), qps=rate, o=rate,
                       client_cpu=report.client_cpu_s * 1e6 / max(1, report.queries),
                       instructions=counted.per(report.queries),
                       retries=sum(report.retries.values()),
                       stalls=stalls(report.queries_by_second), **latency_metrics(report))
        if test.kind == "scan" and rate is not None:
            metrics["rows_per_s"] = rate * options.rows
        return run_of(report, metrics)
