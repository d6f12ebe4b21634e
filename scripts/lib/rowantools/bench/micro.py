# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench micro: single statements and sysbench's transactions, one kind at a time."""
from functools import partial

from . import database, micro_tables
from .instructions import Instructions, why_not
from .measuring import missed_rate
from .micro_tests import GROUPS, SETS
from .workload import Case, Workload

_OVERHEAD_S = 1.0       # of a run: connecting, calming down


class Micro(Workload):
    columns = ("qps", "rows_per_s", "cpu", "client_cpu", "cs", "r", "rkb", "wkb", "o",
               "instructions", "retries", "p50", "p95", "p99", "p999", "max", "worst_second_ms",
               "stalls")

    def __init__(self, session, options):
        super().__init__(session, options)
        self._wrote = False

    @staticmethod
    def prepare(options):
        quick = options.quick
        options.shape = options.shape or ((1, 100_000) if quick else (1, 1_000_000))
        options.time = options.time or (2 if quick else 10)
        options.tests = options.tests or [test.name for test in SETS[
            options.set or ("quick" if quick else "42")]]

    def groups(self):
        return GROUPS

    def notes(self):
        if self.options.instructions and why_not():
            yield (f"Instructions a query are missing. {why_not()} scripts/bench instructions "
                   "counts them with valgrind.")

    def cases(self):
        options = self.options
        return [Case(name, test.group, name, "rows_per_s" if test.kind == "scan" else "qps",
                     options.time + _OVERHEAD_S, partial(self._one_run, test, threads),
                     {"threads": threads, "is_write": test.is_write})
                for test in SETS["42"] if test.name in options.tests for threads in options.threads
                for name in [test.name if len(options.threads) == 1 else
                             f"{test.name} x{threads}"]]

    def fill(self, target):
        tables, rows = self.options.shape
        micro_tables.fill(target, rows, tables, max(self.options.threads), self.tell_filled)

    def start(self):
        """Every page of the tables and their indexes is read once."""
        for target in self.session.targets:
            self.session.tell(f"reading all of {target.name}")
            with database.connect(target) as connection:
                for number in range(1, self.options.shape[0] + 1):
                    connection.execute(f"SELECT COUNT(*) FROM sbtest{number} WHERE LENGTH(c) < 0")
                    connection.execute(f"SELECT COUNT(k) FROM sbtest{number} WHERE k > 0")

    def before(self, case):
        """Reads after writes begin when all sides are quiet."""
        if self._wrote and not case.more["is_write"]:
            for target in self.session.targets:
                self.session.settle(target)
        self._wrote = case.more["is_write"]

    def _one_run(self, test, threads, target, tell):
        options = self.options
        tables, rows = options.shape
        load = micro_tables.load(target, test.kind, rows, range=test.rows, tables=tables,
                                 threads=threads, time=options.time,
                                 **({"rate": options.rate} if options.rate else {}))
        counted = Instructions(target.pid if options.instructions else 0)
        run, report, _ = self.run_load(target, load, tell, watch=counted)
        run["metrics"]["instructions"] = counted.per(report.queries)
        if options.rate:
            run.update(missed_rate(report.events, report.seconds, options.rate))
        if test.kind == "scan" and report.seconds:
            run["metrics"]["rows_per_s"] = run["metrics"]["qps"] * rows
        return run
