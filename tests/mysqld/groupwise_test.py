#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The first rows of each group: which queries read only those, that the answers stay the same, and
which queries are left alone (docs/groupwise.md)."""
from framework import main

OPTIMIZERS = ("off", "on")  # hypergraph_optimizer
GROUPS = 10
ROWS = 2000


def _fill(t):
    t.run("CREATE TABLE g (pk INT PRIMARY KEY, j INT NOT NULL, k INT, v INT NOT NULL, "
          "KEY j (j, pk DESC), KEY jk (j, k))",
          "CREATE TABLE other (pk INT PRIMARY KEY, j INT NOT NULL, k INT, v INT NOT NULL, "
          "KEY j (j, pk DESC), KEY jk (j, k)) ENGINE=INNODB")
    values = ", ".join(f"({i}, {i % GROUPS}, {'NULL' if i % 3 == 0 else i * 7 % 50}, {i % 4})"
                       for i in range(1, ROWS + 1))
    for table in ("g", "other"):
        t.run(f"INSERT INTO {table} VALUES {values}", f"ANALYZE TABLE {table}")


def _plan(t, query):
    return t.run(f"EXPLAIN FORMAT=TREE {query}")[0][0]


def _rows_read(t, query):
    """How often the server asked handlers for a row."""
    t.run("FLUSH STATUS", query)
    return sum(int(value) for name, value in t.run("SHOW SESSION STATUS LIKE 'Handler_read%'"))


def _check(t, query, pushed, most_read=None):
    """Pushed or not, under both optimizers: the rows are those without pushdown, and InnoDB's."""
    expected = sorted(map(str, t.run(query.replace("FROM g", "FROM other"))))
    for hypergraph in OPTIMIZERS:
        t.run(f"SET optimizer_switch = 'hypergraph_optimizer={hypergraph}'")
        plan = _plan(t, query)
        t.equal("only the" in plan, pushed, f"pushed, hypergraph {hypergraph}: {query}\n{plan}")
        t.equal(sorted(map(str, t.run(query))), expected, f"hypergraph {hypergraph}: {query}")
        if most_read is not None:
            read = _rows_read(t, query)
            t.true(read <= most_read, f"{read} rows read, hypergraph {hypergraph}: {query}")
        t.run("SET rowan_pushdown_groupwise = OFF")
        t.true("only the" not in _plan(t, query), f"switched off: {query}")
        t.equal(sorted(map(str, t.run(query))), expected, f"switched off: {query}")
        t.run("SET rowan_pushdown_groupwise = ON")
    t.run("SET optimizer_switch = 'hypergraph_optimizer=off'")


def _ranked(limit, function="RANK()", window="PARTITION BY j ORDER BY pk DESC", columns="*",
            inner=""):
    return (f"SELECT {columns} FROM (SELECT pk, j, k, {function} OVER ({window}) AS r FROM g "
            f"{inner}) d WHERE {limit}")


def test_limits_on_ranks(t):
    _fill(t)
    for function in ("RANK()", "ROW_NUMBER()", "DENSE_RANK()"):
        for limit, rows in (("r = 1", 1), ("r <= 3", 3), ("3 > r", 2), ("r BETWEEN 1 AND 2", 2),
                            ("r = 2", 2), ("r < 1", 1), ("r <= 2 AND r < 4 AND v.j > 2", 2)):
            query = _ranked(limit.replace("v.j", "d.j"), function)
            _check(t, query, True, 8 * GROUPS * rows + 20)
    # The other end of the index, ties, NULLs, part of the order.
    for window in ("PARTITION BY j ORDER BY pk", "PARTITION BY j ORDER BY k",
                   "PARTITION BY j ORDER BY k DESC", "PARTITION BY j ORDER BY k DESC, pk DESC",
                   "PARTITION BY j, k ORDER BY pk", "PARTITION BY k, j ORDER BY pk DESC"):
        for function in ("RANK()", "DENSE_RANK()"):
            for limit in ("r = 1", "r <= 4"):
                _check(t, _ranked(limit, function, window), True)
    _check(t, _ranked("r <= 5", "ROW_NUMBER()", "ORDER BY pk DESC"), True, 40)
    _check(t, _ranked("r = 1", inner="WHERE j IN (2, 3) OR j > 7"), True, 200)


def test_where_a_rank_may_stand(t):
    _fill(t)
    block = "SELECT pk, j, RANK() OVER (PARTITION BY j ORDER BY pk DESC) AS r FROM g"
    _check(t, f"WITH d AS ({block}) SELECT * FROM d WHERE r = 1", True, 100)
    _check(t, f"SELECT d.*, x.v FROM ({block}) d JOIN other x ON x.pk = d.pk WHERE d.r <= 2", True)
    _check(t, "SELECT * FROM (SELECT pk, j, RANK() OVER w AS a, ROW_NUMBER() OVER w AS b FROM g "
           "WINDOW w AS (PARTITION BY j ORDER BY pk DESC)) d WHERE a <= 3 AND b = 2", True, 400)
    t.run(f"CREATE VIEW ranked AS {block}")
    expected = t.run(f"SELECT pk, j FROM ({block}) d WHERE r + 0 = 1 ORDER BY pk")
    t.true("only the first row" in _plan(t, "SELECT pk, j FROM ranked WHERE r = 1"), "a view")
    t.rows("SELECT pk, j FROM ranked WHERE r = 1 ORDER BY pk", expected)
    t.run("SET @wanted = 1", "PREPARE p FROM 'SELECT pk, j FROM ranked WHERE r <= ? ORDER BY pk'")
    for _ in range(2):
        t.rows("EXECUTE p USING @wanted", expected)
        t.equal(len(t.run("SET @two = 2", "EXECUTE p USING @two")), 2 * GROUPS, "another limit")
    t.true(_rows_read(t, "EXECUTE p USING @wanted") < 100, "rows read by a prepared statement")
    t.run("SET optimizer_switch = 'hypergraph_optimizer=on'")
    t.rows("SELECT pk, j FROM g QUALIFY RANK() OVER (PARTITION BY j ORDER BY pk DESC) = 1 "
           "ORDER BY pk", expected)
    t.run("SET optimizer_switch = 'hypergraph_optimizer=off'")


def test_ranks_that_need_every_row(t):
    _fill(t)
    for query in (
            _ranked("r = 1", "COUNT(*)"), _ranked("r = 1", "NTILE(3)"),
            _ranked("r >= 1"), _ranked("r = 1 OR d.j = 3"), _ranked("r <> 3"),
            _ranked("r = 1", inner="WHERE v = 1"),  # drops rows inside of groups
            _ranked("r = 1", inner="WHERE j + pk > 10"),
            _ranked("r = 1", window="PARTITION BY v ORDER BY pk"),  # no such key
            _ranked("r = 1", window="PARTITION BY j ORDER BY v"),
            _ranked("r = 1", window="PARTITION BY j + 1 ORDER BY pk"),
            _ranked("r = 1", window="PARTITION BY j"),
            _ranked("r = 1", window="PARTITION BY j ORDER BY k, pk DESC"),  # mixed directions
            _ranked("r = 1", inner="LIMIT 100"),
            "SELECT * FROM (SELECT DISTINCT j, RANK() OVER (PARTITION BY j ORDER BY pk DESC) AS r "
            "FROM g) d WHERE r = 1",
            "SELECT * FROM (SELECT j, MAX(pk), RANK() OVER (PARTITION BY j ORDER BY MAX(pk)) AS r "
            "FROM g GROUP BY j) d WHERE r = 1",
            "SELECT * FROM (SELECT pk, j, RANK() OVER (PARTITION BY j ORDER BY pk DESC) AS r, "
            "LAG(pk) OVER (PARTITION BY j ORDER BY pk) AS before_it FROM g) d WHERE r = 1",
            "SELECT * FROM (SELECT a.pk, a.j, RANK() OVER (PARTITION BY a.j ORDER BY a.pk) AS r "
            "FROM g a JOIN other b ON a.pk = b.pk) d WHERE r = 1",
            "WITH d AS (SELECT pk, j, RANK() OVER (PARTITION BY j ORDER BY pk DESC) AS r FROM g) "
            "SELECT a.pk, b.n FROM d a JOIN (SELECT j, COUNT(*) AS n FROM d GROUP BY j) b "
            "ON a.j = b.j WHERE a.r = 1",
            "SELECT * FROM (SELECT pk, RANK() OVER (PARTITION BY j ORDER BY pk) AS r FROM g UNION "
            "ALL SELECT 0, 1) d WHERE r = 1"):
        _check(t, query, False)


def test_statements_that_are_left_alone(t):
    _fill(t)
    query = _ranked("r = 1", columns="pk")
    t.true("only the" in _plan(t, query), "pushed otherwise")
    for prefix in ("INSERT INTO other (pk, j, v) SELECT pk + 100000, 1, 1 FROM",
                   "DELETE FROM other WHERE pk IN (SELECT pk FROM"):
        inner = f"{prefix} ({query}) z" + (")" if prefix.startswith("DELETE") else "")
        t.true("only the" not in _plan(t, inner), inner)
    for isolation, pushed in (("READ UNCOMMITTED", False), ("READ COMMITTED", True),
                              ("REPEATABLE READ", True), ("SERIALIZABLE", False)):
        t.run(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}", "BEGIN")
        t.equal("only the" in _plan(t, query), pushed, isolation)
        t.equal(len(t.run(query)), GROUPS, isolation)
        t.run("COMMIT")
    t.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    t.run("CREATE TABLE parts (pk INT PRIMARY KEY, j INT NOT NULL, k INT, KEY j (j, pk DESC)) "
          "PARTITION BY HASH (pk) PARTITIONS 3", "INSERT INTO parts SELECT pk, j, k FROM g",
          "CREATE TEMPORARY TABLE mine (pk INT PRIMARY KEY, j INT NOT NULL, k INT, "
          "KEY j (j, pk DESC))", "INSERT INTO mine SELECT pk, j, k FROM g")
    expected = t.run(query + " ORDER BY pk")
    for table in ("parts", "mine", "other"):
        t.true("only the" not in _plan(t, query.replace("FROM g", f"FROM {table}")), table)
        t.rows(query.replace("FROM g", f"FROM {table}") + " ORDER BY pk", expected)
    hinted = query.replace("FROM g", "FROM g IGNORE INDEX (j)")
    t.true("only the" not in _plan(t, hinted), "IGNORE INDEX")
    t.run("ALTER TABLE g ALTER INDEX j INVISIBLE")
    t.true("only the" not in _plan(t, query), "an invisible index")


def test_rows_of_the_snapshot(t):
    """A group's first row is the first one that the statement may see."""
    _fill(t)
    query = _ranked("r = 1", columns="pk, j")
    reader, writer = t.client(), t.client()
    reader.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    before = sorted(t.run(query))
    writer.execute(f"DELETE FROM g WHERE pk > {ROWS - 3}")
    writer.execute(f"INSERT INTO g VALUES ({ROWS + 1}, 1, 1, 1), ({ROWS + 2}, 77, 1, 1)")
    writer.execute("UPDATE g SET j = 78 WHERE pk = 1995")
    t.equal(sorted(reader.query(query)), before, "an old snapshot")
    after = sorted(t.run(query))
    t.true((ROWS + 2, 77) in after and (1995, 78) in after and (ROWS + 1, 1) in after, f"{after}")
    writer.execute("BEGIN")
    writer.execute("DELETE FROM g WHERE j = 3")
    t.equal(sorted(t.run(query)), after, "an unfinished transaction of another session")
    t.equal(sorted(writer.query(query)), [row for row in after if row[1] != 3], "its own view")
    writer.execute("ROLLBACK")
    reader.execute("COMMIT")
    t.equal(sorted(reader.query(query)), after, "a new snapshot")


if __name__ == "__main__":
    main(globals())
