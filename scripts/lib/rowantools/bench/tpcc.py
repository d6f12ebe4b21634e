# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench tpcc: a load in the manner of TPC-C at three isolation levels. It has that
benchmark's tables, transactions and shares but neither its key and think times nor its rules of
measuring, so that its figures are none of TPC-C. After each run the conditions of consistency are
checked; a side that breaks one has failed."""
from functools import partial

from ..paths import UserError
from . import database
from .load import Load, clients
from .queries import analyze, size_mib
from .tpcc_conditions import CONDITIONS, require_consistent
from .workload import Case, Workload

_LEVELS = {"rc": "READ COMMITTED", "rr": "REPEATABLE READ", "ser": "SERIALIZABLE"}
_CHECK_S = 4            # for the plan, a warehouse
_TABLES = ("item", "warehouse", "district", "customer", "history", "orders", "new_order",
           "order_line", "stock")


class Tpcc(Workload):
    """`options`: warehouses, customers (of a district), items, threads (a list), isolation (a list
    of rc, rr, ser), time."""
    columns = ("nopm", "events_per_s", "p50", "p95", "p99", "p999", "max", "worst_second_ms",
               "cpu", "client_cpu", "cs", "r", "rkb", "wkb", "retries", "size_mib", "stalls")

    @staticmethod
    def prepare(options):
        if options.customers < 10:
            raise UserError("--customers: at least 10 of a district")

    def groups(self):
        return [(level, f"TPC-C-like, {_LEVELS[level]}") for level in self.options.isolation]

    def notes(self):
        options = self.options
        return [f"TPC-C-like: warehouses: {options.warehouses:,}, {options.customers:,} customers "
                f"a district, {options.items:,} items, no think times; these are no figures of "
                "TPC-C. NOPM counts committed new orders, latencies are those of all five "
                "transactions, and columns per operation count transactions."]

    def cases(self):
        options = self.options
        return [Case(f"{level}, {clients(threads)}", level, clients(threads), "nopm",
                     options.time + 1 + _CHECK_S * options.warehouses,
                     partial(self._one_run, level, threads), {"clients": threads})
                for level in options.isolation for threads in options.threads]

    def fill(self, target):
        options = self.options
        self._load(target, {}, "prepare").run()
        self._load(target, {"threads": min(options.warehouses, max(options.threads))},
                   "fill").run()
        with database.connect(target) as connection:
            analyze(connection, *[f"tpcc_{table}" for table in _TABLES])
        require_consistent(target, options.customers)

    def _load(self, target, more, command="run"):
        options = self.options
        engine = {"engine": target.engine} if target.protocol == "mysql" else {}
        return Load(target, "tpcc.lua", dict(
            engine, warehouses=options.warehouses, customers=options.customers,
            items=options.items, **more), command)

    def _one_run(self, level, threads, target, tell):
        if level == "ser" and target.engine.lower() == "rocksdb":
            return {"metrics": {}, "facts": {"not available": f"it has no {_LEVELS[level]}"}}
        load = self._load(target, {"threads": threads, "events": 0, "time": self.options.time,
                                   "isolation": _LEVELS[level]})
        run, report, _ = self.run_load(target, load, tell, "events")
        require_consistent(target, self.options.customers)
        run["metrics"].update(size_mib=size_mib(target), nopm=60 * report.counted.get(
            "new_order", 0) / report.seconds)
        run["facts"] = {"transactions": ", ".join(
            f"{name} {count:,}" for name, count in sorted(report.counted.items())),
            "consistency": f"all {len(CONDITIONS)} conditions hold"}
        return run
