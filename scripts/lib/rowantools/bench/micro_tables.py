# SPDX-License-Identifier: GPL-2.0-only
"""The tables of the microbenchmarks, sbtest1 and so on, and loads on them."""
from . import database
from .load import Load
from .queries import analyze


def fill(target, rows, tables=1, threads=1, tell=None):
    """Tables of so many rows each; `tell(rows by now, rows)`."""
    engine = {"engine": target.engine} if target.protocol == "mysql" else {}
    Load(target, "micro.lua", dict(engine, rows=rows, tables=tables,
                                   threads=min(tables, threads)), "prepare").run(
        tell and (lambda done: tell(done, rows * tables)))
    if tell:
        tell(rows * tables, rows * tables)
    with database.connect(target) as connection:
        analyze(connection, *[f"sbtest{number}" for number in range(1, tables + 1)])


def load(target, kind, rows, **more):
    """The Load of one kind of statement, one client on one table unless `more` says otherwise."""
    return Load(target, "micro.lua", dict({"kind": kind, "rows": rows, "tables": 1, "threads": 1,
                                           "events": 0, "rand_type": "uniform"}, **more))
