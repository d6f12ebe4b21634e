# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench hotrow: every client adds to one row, beside clients that add to rows of their own:
what the row costs that all want, and what as many threads cost anyway."""
from functools import partial

from . import database, queries
from .load import Load, clients
from .workload import Case, Workload

_KINDS = (("one row", "One row for all clients", "off"),
          ("own rows", "A row for each client", "on"))


class HotRow(Workload):
    columns = ("events_per_s", "p50", "p95", "p99", "p999", "max", "worst_second_ms", "cpu",
               "client_cpu", "cs", "wkb", "retries", "stalls")

    def groups(self):
        return [(name, title) for name, title, _ in _KINDS]

    def cases(self):
        return [Case(f"{name}, {clients(threads)}", name, clients(threads), "events_per_s",
                     self.options.time + 1, partial(self._one_run, own, threads),
                     {"clients": threads})
                for name, _, own in _KINDS for threads in self.options.threads]

    def fill(self, target):
        with database.connect(target) as connection:
            queries.create(connection, target, "hot", "id INT PRIMARY KEY, v BIGINT NOT NULL, "
                           "pad CHAR(60) NOT NULL")
            queries.fill(connection, "hot", ((number, 0, "x") for number in
                                             range(1, max(self.options.threads) + 1)))

    def _one_run(self, own, threads, target, tell):
        load = Load(target, "hot_row.lua", {"threads": threads, "events": 0, "own": own,
                                            "time": self.options.time})
        return self.run_load(target, load, tell, "events")[0]
