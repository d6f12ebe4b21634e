# SPDX-License-Identifier: GPL-2.0-only
"""Queries that each take milliseconds or more: one after the other, their answers compared between
the sides. A workload of them says what the queries and their tables are."""
from functools import partial

from . import callgrind, database, queries
from .instructions import Instructions
from .workload import Case, Workload


class TimedQueries(Workload):
    """`flights`: [(title that begins with a name, {query's name: SQL})]; `rows_default`: (timed,
    counted); `rows_per_s` of a query, for the plan."""
    columns = ("ms", "instructions", "rows_read")
    flights = ()
    rows_default = (0, 0)
    rows_per_s = 1

    def __init__(self, session, options):
        super().__init__(session, options)
        self._warm = set()      # (query, target) that have run once
        self._counter = None

    @classmethod
    def prepare(cls, options):
        options.rows = options.rows or cls.rows_default[options.instructions]
        if options.instructions:
            callgrind.prepare(options)

    def check(self):
        if self.options.instructions:
            queries.require_private(self.session.targets, "--instructions")
            self._counter = callgrind.Counter(self.session)

    def groups(self):
        return [(_name(title), title) for title, _ in self.flights]

    def notes(self):
        if self._counter:
            yield ("Instructions are those of one query, counted by callgrind in the server's "
                   "session; below valgrind there are no times.")

    def cases(self):
        main = "instructions" if self._counter else "ms"
        return [Case(name, _name(title), name, main, self.options.rows / self.rows_per_s,
                     partial(self._one_run, name, query), {"query": query})
                for title, flight in self.flights for name, query in flight.items()]

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
        return self.compared(test, sorted(self.plain(row) for row in answer),
                             {"metrics": metrics, "facts": {"rows of the answer": len(answer)}})

    @staticmethod
    def plain(row):
        """A row of the answer as all servers have it."""
        return tuple(str(value).rstrip() for value in row)


def _name(title):
    return title.split(":")[0]
