# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench ssb: the 13 queries of the Star Schema benchmark on tables that grow with the order
lines asked for. All sides have the same rows and must give the same answers."""
from functools import partial

from . import callgrind, database, queries, ssb_data
from .instructions import Instructions
from .ssb_queries import FLIGHTS
from .workload import Case, Workload

_LINES_PER_S = 500_000   # of a query, for the plan


class StarSchema(Workload):
    columns = ("ms", "instructions", "rows_read")

    def __init__(self, session, options):
        super().__init__(session, options)
        self._warm = set()      # (query, target) that have run once
        self._counter = None

    @staticmethod
    def prepare(options):
        options.rows = options.rows or (20_000 if options.instructions else 300_000)
        if options.instructions:
            callgrind.prepare(options)

    def check(self):
        if self.options.instructions:
            queries.require_private(self.session.targets, "ssb --instructions")
            self._counter = callgrind.Counter(self.session)

    def groups(self):
        return [(title[:8], title) for title, _ in FLIGHTS]

    def notes(self):
        counts = ssb_data.counts(self.options.rows)
        yield ("Star Schema-like: " + ", ".join(
            f"{count:,} rows in {table}" for table, count in counts.items())
            + ", from a generator of our own. Each answer is the same on all sides, or the run has "
              "failed.")
        if self._counter:
            yield ("Instructions are those of one query, counted by callgrind in the server's "
                   "session; below valgrind there are no times.")

    def cases(self):
        main = "instructions" if self._counter else "ms"
        return [Case(f"Q{name}", title[:8], f"Q{name}", main, self.options.rows / _LINES_PER_S,
                     partial(self._one_run, f"Q{name}", query), {"query": query})
                for title, flight in FLIGHTS for name, query in flight.items()]

    def fill(self, target):
        fill(target, self.options.rows)

    def start(self):
        if self._counter:
            self._counter.switch_on()

    def _one_run(self, test, query, target, tell):
        with database.connect(target) as connection:
            queries.limit_time(connection, target, self.options.limit)
            if (test, target.name) not in self._warm:
                self._warm.add((test, target.name))
                queries.timed(connection, query)
            if self._counter:
                answer, count = self._counter.count(lambda: queries.timed(connection, query)[0])
                metrics = {"instructions": count}
            else:
                with Instructions(target.pid) as counted:
                    answer, milliseconds, reads = queries.timed_with_reads(connection, query)
                metrics = {"ms": milliseconds, "instructions": counted.per(1), "rows_read": reads}
        if answer is None:
            return {"metrics": {}, "facts": {test: f"more than {self.options.limit} s"}}
        # Rows with equal keys of the order come in any order.
        return self.compared(test, sorted(tuple(str(value).rstrip() for value in row)
                                          for row in answer),
                             {"metrics": metrics, "facts": {"rows of the answer": len(answer)}})


def fill(target, lines):
    """The five tables with so many order lines."""
    with database.connect(target) as connection:
        for table, columns in ssb_data.TABLES.items():
            queries.create(connection, target, table, columns)
            queries.fill(connection, table, ssb_data.rows(table, lines))
        for column in ssb_data.INDEXED:
            connection.execute(f"CREATE INDEX {column} ON ssb_lineorder ({column})")
        queries.analyze(connection, *ssb_data.TABLES)
