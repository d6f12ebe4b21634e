# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench tpcc: a load in the manner of TPC-C at three isolation levels. It has that
benchmark's tables, transactions and shares but neither its key and think times nor its rules of
measuring, so that its figures are none of TPC-C. After each run the conditions of consistency are
checked; a side that breaks one has failed."""
from ..progress import Step
from . import database
from .load import Load, clients
from .measuring import latency_metrics, observe, per_operation, run_of, stalls
from .queries import size_mib
from .tpcc_conditions import CONDITIONS, require_consistent

COLUMNS = ("nopm", "events_per_s", "p50", "p95", "p99", "p999", "max", "worst_second_ms", "cpu",
           "client_cpu", "cs", "r", "rkb", "wkb", "retries", "size_mib", "stalls")
ISOLATIONS = {"rc": "READ COMMITTED", "rr": "REPEATABLE READ", "ser": "SERIALIZABLE"}
_CHECK_S = 4            # for the plan, a warehouse
_TABLES = ("item", "warehouse", "district", "customer", "history", "orders", "new_order",
           "order_line", "stock")


class Tpcc:
    """`options`: warehouses, customers (of a district), items, threads (a list), isolations (keys
    of ISOLATIONS), time."""

    def __init__(self, session, options):
        self._session, self._options = session, options

    def run(self):
        session, options = self._session, self._options
        for level in options.isolations:
            session.result.add_group(level, f"TPC-C-like, {ISOLATIONS[level]}")
            for threads in options.threads:
                session.result.add_test(_name(level, threads), level, clients(threads), "nopm")
        session.result.set_columns(COLUMNS)
        session.result.note(
            f"TPC-C-like: {options.warehouses:,} warehouses, {options.customers:,} customers a "
            f"district, {options.items:,} items, no think times; these are no figures of TPC-C. "
            "NOPM counts committed new orders, latencies are those of all five transactions, and "
            "columns per operation count transactions.")
        session.open_targets()
        for target in session.targets:
            self._fill(target)
        planned = options.time + 1 + _CHECK_S * options.warehouses
        session.plan("tpcc", planned * len(options.isolations) * len(options.threads)
                     * session.request.rounds * len(session.targets))
        for level in options.isolations:
            for threads in options.threads:
                session.take_turns(_name(level, threads), planned,
                                   lambda target, tell, level=level, threads=threads:
                                   self._one_run(target, level, threads, tell))

    def _fill(self, target):
        options = self._options
        with Step(f"loading {options.warehouses:,} warehouses into {target.name}"):
            self._load(target, {}, "prepare").run()
            self._load(target, {"threads": min(options.warehouses, max(options.threads))},
                       "fill").run()
            with database.connect(target) as connection:
                for table in _TABLES:
                    connection.execute(f"VACUUM ANALYZE tpcc_{table}" if target.protocol ==
                                       "postgres" else f"ANALYZE TABLE tpcc_{table}")
            require_consistent(target, options.customers)

    def _load(self, target, more, command="run"):
        options = self._options
        engine = {"engine": target.engine} if target.protocol == "mysql" else {}
        return Load(target, "tpcc.lua", dict(
            engine, warehouses=options.warehouses, customers=options.customers,
            items=options.items, **more), command)

    def _one_run(self, target, level, threads, tell):
        self._session.settle(target)
        load = self._load(target, {"threads": threads, "events": 0, "time": self._options.time,
                                   "isolation": ISOLATIONS[level]})
        with observe(target, self._session.data_folder(target)) as sampler:
            report = load.run(tell)
        require_consistent(target, self._options.customers)
        metrics = dict(per_operation(sampler, report.events), **latency_metrics(report),
                       nopm=60 * report.counted.get("new_order", 0) / report.seconds,
                       events_per_s=report.events / report.seconds,
                       client_cpu=report.client_cpu_s * 1e6 / max(1, report.events),
                       retries=sum(report.retries.values()), size_mib=size_mib(target),
                       stalls=stalls(report.events_by_second))
        run = run_of(report, metrics, report.events_by_second)
        run["facts"] = {"transactions": ", ".join(
            f"{name} {count:,}" for name, count in sorted(report.counted.items())),
            "consistency": f"all {len(CONDITIONS)} conditions hold"}
        return run


def _name(level, threads):
    return f"{level}, {clients(threads)}"
