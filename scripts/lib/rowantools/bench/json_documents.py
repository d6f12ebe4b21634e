# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench json: UPDATEs with JSON_SET of ten bytes in documents of several sizes: their time,
the redo they append, and the pages that are written or left dirty behind them."""
import random
import statistics
from functools import partial

from . import database
from .queries import create, require_mysql, status, timed
from .workload import Case, Workload

_MEMBER_BYTES = 1000
# engine: counters of redo and of pages; the first that the server has counts.
_REDO = {"rowan": ("Rowan_log_lsn",),
         "innodb": ("Innodb_redo_log_current_lsn", "Innodb_lsn_current")}
_PAGES = {"rowan": "Rowan_buffer_pool_pages_{}", "innodb": "Innodb_buffer_pool_pages_{}"}


class JsonDocuments(Workload):
    """`options`: sizes in KB, updates (of a run)."""
    columns = ("ms", "redo_bytes", "pages")

    def check(self):
        require_mysql(self.session.targets, "json")

    def groups(self):
        return [("documents", f"JSON_SET of ten bytes, {self.options.updates} updates of a "
                 "document")]

    def cases(self):
        return [Case(f"{size:,} KB", "documents", f"{size:,} KB", "ms",
                     1 + self.options.updates * size / 100_000, partial(self._one_run, size))
                for size in self.options.sizes]

    def _one_run(self, size, target, tell):
        members = max(1, size * 1000 // _MEMBER_BYTES)
        chosen = random.Random(size)
        with database.connect(target) as connection:
            _fill(connection, target, members)
            redo, pages = _redo(connection, target.engine), _pages(connection, target.engine)
            times = []
            for _ in range(self.options.updates):
                member, value = chosen.randrange(members), chosen.randrange(10 ** 10)
                times.append(timed(connection, "UPDATE documents SET d = JSON_SET(d, "
                                               f"'$.m{member}.v', '{value:010d}')")[1])
            redo_after = _redo(connection, target.engine)
            pages_after = _pages(connection, target.engine)
            connection.execute("DROP TABLE documents")
        return {"metrics": {"ms": statistics.median(times),
                            "redo_bytes": self._each(redo, redo_after),
                            "pages": self._each(pages, pages_after)}}

    def _each(self, before, after):
        return None if before is None or after is None else \
            (after - before) / self.options.updates


def _fill(connection, target, members):
    """Each member has ten bytes that are changed, beside others."""
    create(connection, target, "documents", "id INT PRIMARY KEY, d JSON")
    filler = "p" * (_MEMBER_BYTES - 40)
    document = ", ".join(f'"m{number}": {{"v": "0123456789", "p": "{filler}"}}'
                         for number in range(members))
    connection.execute(f"INSERT INTO documents VALUES (1, '{{{document}}}')")


def _redo(connection, engine):
    for name in _REDO.get(engine, ()):
        value = status(connection, name)
        if value is not None:
            return value
    return None


def _pages(connection, engine):
    if engine not in _PAGES:
        return None
    counts = [status(connection, _PAGES[engine].format(state)) for state in ("flushed", "dirty")]
    return None if None in counts else sum(counts)
