# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench load: the lines of orders loaded in the order of the primary key and shuffled, then
read by customer through a secondary index: what a table pays later for how it was filled."""
import random
import time
from functools import partial

from . import database
from .load import Load
from .measuring import MIB, observe, per_operation, ratio
from .queries import analyze, create, fill
from .workload import Case, Workload

_ORDERS = (("ordered", "in the order of the primary key"), ("shuffled", "in random order"))
_LINES_A_CUSTOMER = 20
_ROWS_PER_S = 20_000   # for the plan


class RowOrder(Workload):
    columns = ("rows_per_s", "qps", "p50", "p95", "p99", "max", "cpu", "client_cpu", "cs", "r",
               "rkb", "wkb", "rss_mib", "stalls")
    whole_rounds = True

    def __init__(self, session, options):
        super().__init__(session, options)
        self._customers = max(1, options.rows // _LINES_A_CUSTOMER)

    def groups(self):
        return (("load", f"Loads of {self.options.rows:,} order lines, one client"),
                ("lookup", "The lines of a customer, by a secondary index"))

    def cases(self):
        options = self.options
        return [case for order, title in _ORDERS for case in (
            Case(f"load {order}", "load", title, "rows_per_s", options.rows / _ROWS_PER_S,
                 partial(self._load, order)),
            Case(f"look-up {order}", "lookup", f"loaded {title}", "qps", options.time,
                 self._look_up))]

    def _load(self, order, target, tell):
        rows = self.options.rows
        numbers = list(range(1, rows + 1))
        if order == "shuffled":
            random.Random(rows).shuffle(numbers)
        with database.connect(target) as connection:
            create(connection, target, "lineorder", "id INT PRIMARY KEY, customer INT NOT NULL, "
                   "part INT NOT NULL, quantity INT NOT NULL, price INT NOT NULL, "
                   "priority CHAR(15) NOT NULL")
            connection.execute("CREATE INDEX customer ON lineorder (customer)")
            with observe(target, self.session.data_folder(target)) as sampler:
                seconds = _timed_fill(connection, numbers, self._customers)
            analyze(connection, "lineorder")
        return {"seconds": seconds, "metrics": dict(
            per_operation(sampler, rows), rows_per_s=rows / seconds,
            rss_mib=ratio(sampler.rss_bytes, MIB))}

    def _look_up(self, target, tell):
        load = Load(target, "row_order.lua", {
            "customers": self._customers, "threads": self.options.threads, "events": 0,
            "time": self.options.time})
        return self.run_load(target, load, tell)[0]


def _timed_fill(connection, numbers, customers):
    """Seconds that the server took; the rows are made beforehand."""
    chosen = random.Random(1)
    rows = [(number, chosen.randrange(customers) + 1, chosen.randrange(200_000),
             chosen.randrange(50) + 1, chosen.randrange(100_000), "3-MEDIUM") for number in numbers]
    start = time.monotonic()
    fill(connection, "lineorder", rows)
    return time.monotonic() - start
