# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench offset: one page of a long list, LIMIT with a small and a large OFFSET: what it
takes to pass by the rows in front of it, and the two ways around that."""
import statistics
from functools import partial

from . import database, queries
from .queries import timed
from .workload import Case, Workload

_PAGE = 10
_REPEATS = 5
_PLANNED_S = 0.3
_ORDER = "ORDER BY k, id"
# name, title, query; {page} rows after {offset} others
FORMS = (
    ("primary key", "In the order of the primary key",
     "SELECT id, k, pad FROM pages ORDER BY id LIMIT {page} OFFSET {offset}"),
    ("index only", "In the order of an index, its columns only",
     f"SELECT id, k FROM pages {_ORDER} LIMIT {{page}} OFFSET {{offset}}"),
    ("index", "In the order of an index, all columns",
     f"SELECT id, k, pad FROM pages {_ORDER} LIMIT {{page}} OFFSET {{offset}}"),
    ("keys first", "In the order of an index, the keys of the page first",
     "SELECT p.id, p.k, p.pad FROM pages p JOIN (SELECT id FROM pages "
     f"{_ORDER} LIMIT {{page}} OFFSET {{offset}}) page ON page.id = p.id ORDER BY p.k, p.id"),
    ("after the last", "After the last row of the page before, by primary key",
     "SELECT id, k, pad FROM pages WHERE id > {offset} ORDER BY id LIMIT {page}"),
)


class Offset(Workload):
    columns = ("ms", "rows_read")

    def groups(self):
        return [(name, f"{title}; {self.options.rows:,} rows") for name, title, _ in FORMS]

    def cases(self):
        return [Case(test, name, f"offset {offset:,}", "ms", _PLANNED_S,
                     partial(self._one_run, test, query.format(page=_PAGE, offset=offset)))
                for name, _, query in FORMS for offset in self.options.offsets
                for test in [f"{name}, offset {offset:,}"]]

    def fill(self, target):
        rows = self.options.rows
        with database.connect(target) as connection:
            queries.create(connection, target, "pages", "id INT PRIMARY KEY, k INT NOT NULL, "
                           "pad CHAR(100) NOT NULL")
            # 7919 is a prime: neighbours by k lie far apart.
            queries.fill(connection, "pages", ((number, number * 7919 % rows, f"row {number}")
                                               for number in range(1, rows + 1)))
            connection.execute("CREATE INDEX pages_k ON pages (k, id)")
            queries.analyze(connection, "pages")

    def _one_run(self, test, query, target, tell):
        with database.connect(target) as connection:
            connection.execute(query)
            answer, first_ms, rows_read = queries.timed_with_reads(connection, query)
            times = [first_ms] + [timed(connection, query)[1] for _ in range(_REPEATS - 1)]
        answer = [tuple(str(value).rstrip() for value in row) for row in answer]
        return self.compared(test, answer, {"metrics": {"ms": statistics.median(times),
                                                        "rows_read": rows_read}})
