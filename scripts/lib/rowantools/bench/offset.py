# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench offset: one page of a long list, LIMIT with a small and a large OFFSET: what it
takes to pass by the rows in front of it, and the two ways around that."""
import statistics

from ..progress import Step
from . import database
from .queries import fill, handler_reads, timed

COLUMNS = ("ms", "rows_read")
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


class Offset:
    """`options`: rows, offsets (a list)."""

    def __init__(self, session, options):
        self._session, self._options = session, options
        self._answers = {}   # test: the first side's answer

    def run(self):
        session, options = self._session, self._options
        for name, title, _ in FORMS:
            session.result.add_group(name, f"{title}; {options.rows:,} rows")
            for offset in options.offsets:
                session.result.add_test(_name(name, offset), name, f"offset {offset:,}", "ms")
        session.result.set_columns(COLUMNS)
        session.open_targets()
        for target in session.targets:
            with Step(f"filling {target.name}"):
                self._fill(target)
        session.plan("offset", len(FORMS) * len(options.offsets) * len(session.targets)
                     * session.request.rounds * _PLANNED_S)
        for name, _, query in FORMS:
            for offset in options.offsets:
                test = _name(name, offset)
                session.take_turns(test, _PLANNED_S,
                                   lambda target, tell, test=test, offset=offset, query=query:
                                   self._one_run(target, test,
                                                 query.format(page=_PAGE, offset=offset)))

    def _fill(self, target):
        rows = self._options.rows
        is_mysql = target.protocol == "mysql"
        engine = f"ENGINE = {target.engine}" if is_mysql else ""
        with database.connect(target) as connection:
            connection.execute("DROP TABLE IF EXISTS pages")
            connection.execute("CREATE TABLE pages (id INT PRIMARY KEY, k INT NOT NULL, "
                               f"pad CHAR(100) NOT NULL) {engine}")
            # 7919 is a prime: neighbours by k lie far apart.
            fill(connection, "pages", ((number, number * 7919 % rows, f"row {number}")
                                       for number in range(1, rows + 1)))
            connection.execute("CREATE INDEX pages_k ON pages (k, id)")
            connection.execute("ANALYZE TABLE pages" if is_mysql else "VACUUM ANALYZE pages")

    def _one_run(self, target, test, query):
        with database.connect(target) as connection:
            connection.execute(query)
            before = handler_reads(connection)
            answer, first_ms = timed(connection, query)
            after = handler_reads(connection)
            times = [first_ms] + [timed(connection, query)[1] for _ in range(_REPEATS - 1)]
        answer = [tuple(str(value).rstrip() for value in row) for row in answer]
        if answer != self._answers.setdefault(test, answer):
            return {"metrics": {}, "problem": f"the answers differ: {answer[:2]} is not "
                                              f"{self._answers[test][:2]}"}
        return {"metrics": {"ms": statistics.median(times),
                            "rows_read": None if before is None else after - before}}


def _name(form, offset):
    return f"{form}, offset {offset:,}"
