# SPDX-License-Identifier: GPL-2.0-only
"""A table in groups, queries for their first rows, and what is checked of each query."""
from framework import OPTIMIZERS

GROUPS = 10
ROWS = 1000


def fill(t):
    t.run("CREATE TABLE g (pk INT PRIMARY KEY, j INT NOT NULL, k INT, v INT NOT NULL, "
          "KEY j (j, pk DESC), KEY jk (j, k))",
          "CREATE TABLE other (pk INT PRIMARY KEY, j INT NOT NULL, k INT, v INT NOT NULL, "
          "KEY j (j, pk DESC), KEY jk (j, k)) ENGINE=INNODB")
    values = ", ".join(f"({i}, {i % GROUPS}, {'NULL' if i % 3 == 0 else i * 7 % 50}, {i % 4})"
                       for i in range(1, ROWS + 1))
    for table in ("g", "other"):
        t.run(f"INSERT INTO {table} VALUES {values}", f"ANALYZE TABLE {table}")


def plan_of(t, query):
    return t.run(f"EXPLAIN FORMAT=TREE {query}")[0][0]


def rows_read(t, query):
    """How often the server asked handlers for a row."""
    t.run("FLUSH STATUS", query)
    return sum(int(value) for name, value in t.run("SHOW SESSION STATUS LIKE 'Handler_read%'"))


def check(t, query, pushed, most_read=None):
    """Pushed or not (None: as the plan is), under both optimizers: the rows are those without
    pushdown, and InnoDB's."""
    expected = sorted(map(str, t.run(query.replace("FROM g", "FROM other"))))
    for hypergraph in OPTIMIZERS:
        t.run(f"SET optimizer_switch = 'hypergraph_optimizer={hypergraph}'")
        plan = plan_of(t, query)
        if pushed is not None:
            t.equal("only the" in plan, pushed, f"pushed, hypergraph {hypergraph}: {query}\n{plan}")
        t.equal(sorted(map(str, t.run(query))), expected, f"hypergraph {hypergraph}: {query}")
        if most_read is not None:
            read = rows_read(t, query)
            t.true(read <= most_read, f"{read} rows read, hypergraph {hypergraph}: {query}")
        t.run("SET rowan_pushdown_groupwise = OFF")
        t.true("only the" not in plan_of(t, query), f"switched off: {query}")
        t.equal(sorted(map(str, t.run(query))), expected, f"switched off: {query}")
        t.run("SET rowan_pushdown_groupwise = ON")
    t.run("SET optimizer_switch = 'hypergraph_optimizer=off'")


def ranking(limit, function="RANK()", window="PARTITION BY j ORDER BY pk DESC", columns="*",
            inner=""):
    return (f"SELECT {columns} FROM (SELECT pk, j, k, {function} OVER ({window}) AS r FROM g "
            f"{inner}) d WHERE {limit}")


def correlated(column="pk", function="MAX", extra="", outer=""):
    return (f"SELECT pk, j, k FROM g a WHERE {column} = (SELECT {function}({column}) FROM g b "
            f"WHERE b.j = a.j {extra}) {outer}")
