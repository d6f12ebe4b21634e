# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench load: the lines of orders loaded in the order of the primary key and shuffled, then
read by customer through a secondary index: what a table pays later for how it was filled."""
import random
import time

from . import database
from .load import Load
from .measuring import MIB, latency_metrics, observe, per_operation, ratio, run_of, stalls
from .queries import fill, timed

COLUMNS = ("rows_per_s", "qps", "p50", "p95", "p99", "max", "cpu", "client_cpu", "cs", "r", "rkb",
           "wkb", "rss_mib", "stalls")
_ORDERS = (("ordered", "in the order of the primary key"), ("shuffled", "in random order"))
_LINES_A_CUSTOMER = 20
_ROWS_PER_S = 20_000   # for the plan


class RowOrder:
    """`options`: rows, threads, time."""

    def __init__(self, session, options):
        self._session, self._options = session, options

    def run(self):
        session, options = self._session, self._options
        session.result.add_group("load", f"Loads of {options.rows:,} order lines, one client")
        session.result.add_group("lookup", "The lines of a customer, by a secondary index")
        for order, title in _ORDERS:
            session.result.add_test(f"load {order}", "load", title, "rows_per_s")
            session.result.add_test(f"look-up {order}", "lookup", f"loaded {title}", "qps")
        session.result.set_columns(COLUMNS)
        session.open_targets()
        load_s = options.rows / _ROWS_PER_S
        session.plan("load", 2 * session.request.rounds * len(session.targets)
                     * (load_s + options.time))
        for number in range(session.request.rounds):
            for order, _ in _ORDERS:
                session.take_turns(f"load {order}", load_s,
                                   lambda target, tell, order=order: self._load(target, order),
                                   only_round=number)
                session.take_turns(f"look-up {order}", options.time, self._look_up,
                                   only_round=number)

    def _load(self, target, order):
        rows = self._options.rows
        engine = f"ENGINE = {target.engine}" if target.protocol == "mysql" else ""
        numbers = list(range(1, rows + 1))
        if order == "shuffled":
            random.Random(rows).shuffle(numbers)
        customers = max(1, rows // _LINES_A_CUSTOMER)
        with database.connect(target) as connection:
            connection.execute("DROP TABLE IF EXISTS lineorder")
            connection.execute("CREATE TABLE lineorder (id INT PRIMARY KEY, customer INT NOT NULL, "
                               "part INT NOT NULL, quantity INT NOT NULL, price INT NOT NULL, "
                               f"priority CHAR(15) NOT NULL) {engine}")
            connection.execute("CREATE INDEX customer ON lineorder (customer)")
            with observe(target, self._session.data_folder(target)) as sampler:
                seconds = _timed_fill(connection, numbers, customers)
            timed(connection, "ANALYZE lineorder" if target.protocol == "postgres"
                  else "ANALYZE TABLE lineorder")
        return {"seconds": seconds, "metrics": dict(
            per_operation(sampler, rows), rows_per_s=rows / seconds,
            rss_mib=ratio(sampler.rss_bytes, MIB))}

    def _look_up(self, target, tell):
        options = self._options
        self._session.settle(target)
        load = Load(target, "row_order.lua", {
            "customers": max(1, options.rows // _LINES_A_CUSTOMER), "threads": options.threads,
            "events": 0, "time": options.time})
        with observe(target, self._session.data_folder(target)) as sampler:
            report = load.run(tell)
        metrics = dict(per_operation(sampler, report.queries), **latency_metrics(report),
                       qps=report.queries / report.seconds,
                       client_cpu=report.client_cpu_s * 1e6 / max(1, report.queries),
                       stalls=stalls(report.queries_by_second))
        return run_of(report, metrics)


def _timed_fill(connection, numbers, customers):
    """Seconds that the server took; the rows are made beforehand."""
    chosen = random.Random(1)
    rows = [(number, chosen.randrange(customers) + 1, chosen.randrange(200_000),
             chosen.randrange(50) + 1, chosen.randrange(100_000), "3-MEDIUM") for number in numbers]
    start = time.monotonic()
    fill(connection, "lineorder", rows)
    return time.monotonic() - start
