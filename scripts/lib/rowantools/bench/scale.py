# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench scale: throughput by number of clients, and what it costs: a side that scales gives
more with more clients until all cores are busy, and each core then does as much as one alone."""
import statistics
from functools import partial

from . import micro_tables
from .load import clients
from .micro_tests import SETS
from .workload import Case, Workload


class Scale(Workload):
    columns = ("qps", "per_core", "busy_cores", "speedup", "cpu", "client_cpu", "cs", "p50", "p95",
               "p99", "max", "retries", "stalls")

    def __init__(self, session, options):
        super().__init__(session, options)
        self._single = {}   # (test, target): rates with the fewest clients

    @staticmethod
    def prepare(options):
        options.threads = sorted(set(options.threads))

    def groups(self):
        return [(name, f"{name}, by number of clients") for name in self.options.tests]

    def cases(self):
        return [Case(f"{test.name}, {clients(threads)}", test.name, clients(threads), "qps",
                     self.options.time + 1, partial(self._one_run, test, threads),
                     {"clients": threads})
                for test in SETS["42"] if test.name in self.options.tests
                for threads in self.options.threads]

    def fill(self, target):
        micro_tables.fill(target, self.options.rows)

    def _one_run(self, test, threads, target, tell):
        load = micro_tables.load(target, test.kind, self.options.rows, range=test.rows,
                                 threads=threads, time=self.options.time)
        run = self.run_load(target, load, tell)[0]
        metrics, single = run["metrics"], self._single.setdefault((test.name, target.name), [])
        if threads == self.options.threads[0]:
            single.append(metrics["qps"])
        if single:
            metrics["speedup"] = metrics["qps"] / statistics.median(single)
        if metrics["cpu"]:
            metrics.update(per_core=1e6 / metrics["cpu"],
                           busy_cores=metrics["qps"] * metrics["cpu"] / 1e6)
        else:
            metrics.update(per_core=None, busy_cores=None)
        return run
