#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The first rows of each group: which queries read only those, that the answers stay the same, and
which queries are left alone (docs/groupwise.md)."""
import threading

from framework import main
from random_groupwise import RandomTable

OPTIMIZERS = ("off", "on")  # hypergraph_optimizer
GROUPS = 10
ROWS = 1000


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
    """Pushed or not (None: as the plan is), under both optimizers: the rows are those without
    pushdown, and InnoDB's."""
    expected = sorted(map(str, t.run(query.replace("FROM g", "FROM other"))))
    for hypergraph in OPTIMIZERS:
        t.run(f"SET optimizer_switch = 'hypergraph_optimizer={hypergraph}'")
        plan = _plan(t, query)
        if pushed is not None:
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
            _ranked("r = 1", window="PARTITION BY j ORDER BY v, pk DESC"),
            _ranked("r = 1", inner="LIMIT 100"),
            "SELECT * FROM (SELECT DISTINCT j, RANK() OVER (PARTITION BY j ORDER BY pk DESC) AS r "
            "FROM g) d WHERE r = 1",
            "SELECT * FROM (SELECT j, MAX(pk), RANK() OVER (PARTITION BY j ORDER BY MAX(pk)) AS r "
            "FROM g GROUP BY j) d WHERE r = 1",
            "SELECT * FROM (SELECT pk, j, RANK() OVER (PARTITION BY j ORDER BY pk DESC) AS r, "
            "LAG(pk) OVER (PARTITION BY j ORDER BY pk) AS before_it FROM g) d WHERE r = 1",
            "SELECT * FROM (SELECT pk, j, RANK() OVER (PARTITION BY j ORDER BY pk DESC) AS r, "
            "RANK() OVER (PARTITION BY j ORDER BY pk) AS other FROM g) d WHERE r = 1",
            "SELECT * FROM (SELECT a.pk, a.j, RANK() OVER (PARTITION BY a.j ORDER BY a.pk) AS r "
            "FROM g a JOIN other b ON a.pk = b.pk) d WHERE r = 1",
            "WITH d AS (SELECT pk, j, RANK() OVER (PARTITION BY j ORDER BY pk DESC) AS r FROM g) "
            "SELECT a.pk, b.n FROM d a JOIN (SELECT j, COUNT(*) AS n FROM d GROUP BY j) b "
            "ON a.j = b.j WHERE a.r = 1",
            "SELECT * FROM (SELECT pk, RANK() OVER (PARTITION BY j ORDER BY pk) AS r FROM g UNION "
            "ALL SELECT 0, 1) d WHERE r = 1"):
        _check(t, query, False)


def _correlated(column="pk", function="MAX", extra="", outer=""):
    return (f"SELECT pk, j, k FROM g a WHERE {column} = (SELECT {function}({column}) FROM g b "
            f"WHERE b.j = a.j {extra}) {outer}")


def test_rows_equal_to_the_greatest(t):
    _fill(t)
    for function in ("MAX", "MIN"):
        for column in ("pk", "k"):
            most = 20 * GROUPS if column == "pk" else None  # many rows have the greatest k
            _check(t, _correlated(column, function), True, most)
            _check(t, f"SELECT pk, j, k FROM g WHERE (j, {column}) IN (SELECT j, {function}("
                   f"{column}) FROM g GROUP BY j)", True, most)
            _check(t, f"SELECT pk, j FROM g WHERE ({column}, j) IN (SELECT {function}({column}), j "
                   "FROM g WHERE j < 5 GROUP BY j HAVING COUNT(*) > 3)", True)
    _check(t, _correlated(extra="AND b.j > 3"), True)
    _check(t, _correlated(extra="AND a.v = 1"), True)
    _check(t, _correlated(outer="AND v = 1 AND j <> 4"), True)
    _check(t, _correlated(outer="AND j = 4"), True, 10)
    _check(t, _correlated(outer="AND j BETWEEN 2 AND 4"), True, 60)
    _check(t, "SELECT pk, j FROM g WHERE pk IN (SELECT MAX(pk) FROM g GROUP BY j)", True, 200)
    _check(t, "SELECT pk, j FROM g WHERE pk IN (SELECT MIN(pk) FROM g GROUP BY k, j)", True)
    _check(t, "SELECT a.pk, o.v FROM g a JOIN other o ON o.pk = a.pk WHERE a.pk = (SELECT MAX(pk) "
           "FROM g b WHERE b.j = a.j)", True)
    _check(t, "SELECT pk FROM g a WHERE pk = (SELECT pk FROM g b WHERE b.j = a.j "
           "ORDER BY pk DESC LIMIT 1)", True, 200)
    _check(t, "SELECT pk FROM g a WHERE pk = (SELECT pk FROM g b WHERE b.j = a.j "
           "ORDER BY k, pk LIMIT 1)", True, 200)
    _check(t, "SELECT j, COUNT(*), MAX(k) FROM g a WHERE pk = (SELECT MAX(pk) FROM g b "
           "WHERE b.j = a.j) GROUP BY j", True)
    _check(t, "SELECT a.pk FROM g a WHERE a.pk = (SELECT MAX(pk) FROM g b WHERE b.j = a.j AND "
           "b.k = a.k)", True)


def test_order_of_which_a_key_has_the_beginning(t):
    """Rows that tie in it are all read, if they are few."""
    t.run("CREATE TABLE g (pk INT PRIMARY KEY, j INT NOT NULL, k INT, v INT, KEY j (j, k))",
          "CREATE TABLE other (pk INT PRIMARY KEY, j INT NOT NULL, k INT, v INT, KEY j (j, k)) "
          "ENGINE=INNODB")
    rows = ", ".join(f"({i}, {i % 4}, {'NULL' if i % 50 == 0 else i // 3}, {i * 7 % 10})"
                     for i in range(1, ROWS))
    for table in ("g", "other"):
        t.run(f"INSERT INTO {table} VALUES {rows}", f"ANALYZE TABLE {table}")
    for order in ("k, v, pk", "k DESC, pk", "k DESC, v, pk DESC", "k, pk DESC"):
        for function in ("RANK()", "DENSE_RANK()", "ROW_NUMBER()"):
            for limit in ("r = 1", "r <= 3"):
                _check(t, _ranked(limit, function, f"PARTITION BY j ORDER BY {order}"), True, 900)
    _check(t, _ranked("r <= 900", "RANK()", "PARTITION BY j ORDER BY k, v"), False)
    both = ("SELECT * FROM (SELECT pk, j, k, {} OVER (PARTITION BY j ORDER BY k) AS r, {} OVER "
            "(PARTITION BY j ORDER BY k, v, pk) AS n FROM g) d WHERE {}")
    for limit in ("r <= 2", "n <= 2", "n <= 3 AND r <= 1"):
        _check(t, both.format("RANK()", "ROW_NUMBER()", limit), True, 900)
        _check(t, both.format("DENSE_RANK()", "RANK()", limit), True, 900)
    first = ("SELECT pk FROM g a WHERE pk = (SELECT pk FROM g b WHERE b.j = a.j "
             "ORDER BY k, v DESC, pk LIMIT 1)")
    _check(t, first, True)


def test_order_of_the_answer(t):
    """Where the plan leaves the order to a scan of another index, the first rows are sorted."""
    _fill(t)
    anti = "SELECT a.pk, a.j FROM g a LEFT JOIN g b ON b.j = a.j AND b.pk > a.pk WHERE b.pk IS NULL"
    listed = "SELECT pk, j, k FROM g a WHERE (j, pk) IN (SELECT j, MAX(pk) FROM g b GROUP BY j)"
    for order in ("pk", "pk DESC", "pk DESC LIMIT 7", "j, pk", "j DESC, pk DESC", "k, pk"):
        for select in (_correlated('pk', 'MIN'), _correlated('pk', 'MAX'), anti, listed):
            query = f"{select} ORDER BY a.{order}"
            expected = t.run(query.replace("FROM g", "FROM other").replace("JOIN g", "JOIN other"))
            for hypergraph in OPTIMIZERS:
                t.run(f"SET optimizer_switch = 'hypergraph_optimizer={hypergraph}'")
                t.rows(query, expected)
                read = _rows_read(t, query)
                t.true(read < 20 * GROUPS, f"{read} rows read: {query}\n{_plan(t, query)}")
    t.run("SET optimizer_switch = 'hypergraph_optimizer=off'")
    # A LIMIT that is reached before all groups are visited.
    many = ("SELECT pk FROM g a WHERE pk = (SELECT MAX(pk) FROM g b WHERE b.j = a.j AND "
            "b.k = a.k) ORDER BY pk DESC LIMIT 2")
    t.rows(many, t.run(many.replace("FROM g", "FROM other")))


def test_order_below_a_sort(t):
    """Rows are grouped in the order of an index, and the groups are sorted."""
    _fill(t)
    for key in ("j", "k", "v", "pk", "j, k", "k, j"):
        for function in ("MIN", "MAX"):
            query = (f"SELECT {key}, COUNT(*) AS n FROM g a WHERE pk = (SELECT {function}(pk) "
                     f"FROM g b WHERE b.j = a.j) GROUP BY {key} ORDER BY n, {key}")
            _check(t, query, None)
            _check(t, query.replace("ORDER BY n", "ORDER BY n DESC"), None)
    t.run("ALTER TABLE g ADD KEY k (k)", "ALTER TABLE other ADD KEY k (k)", "ANALYZE TABLE g")
    _check(t, "SELECT k, COUNT(*) AS n FROM g a WHERE pk = (SELECT MAX(pk) FROM g b WHERE b.j = "
           "a.j) GROUP BY k ORDER BY n, k", None)




def test_other_tables(t):
    """The groups in the primary key, no primary key, a virtual column, large values."""
    for definition in (
            "j INT NOT NULL, pk INT NOT NULL, k INT, PRIMARY KEY (j, pk)",
            "j INT NOT NULL, pk INT NOT NULL, k INT, KEY (j, pk)",
            "j INT, pk INT NOT NULL, k INT, KEY (j DESC, pk DESC)",
            "j INT AS (pk % 10) NOT NULL, pk INT PRIMARY KEY, k INT AS (pk * 2), KEY (j, pk)",
            "j INT NOT NULL, pk INT PRIMARY KEY, k INT, body TEXT, KEY (j, pk)"):
        t.run("DROP TABLE IF EXISTS g, other", f"CREATE TABLE g ({definition})",
              f"CREATE TABLE other ({definition}) ENGINE=INNODB")
        generated = "AS (" in definition
        for first in range(1, 301, 100):
            rows = ", ".join(f"({i})" if generated else f"({i % 10}, {i}, {i % 7})"
                             for i in range(first, first + 100))
            for table in ("g", "other"):
                t.run(f"INSERT INTO {table} ({'pk' if generated else 'j, pk, k'}) VALUES {rows}")
        if "body" in definition:
            t.run("UPDATE g SET body = REPEAT(pk, 9000)",
                  "UPDATE other SET body = REPEAT(pk, 9000)")
        t.run("ANALYZE TABLE g, other")
        columns = "pk, j, k, CRC32(body)" if "body" in definition else "pk, j, k"
        ranked = (f"SELECT * FROM (SELECT {columns}, RANK() OVER (PARTITION BY j ORDER BY pk DESC) "
                  "AS r FROM g) d WHERE r <= 2")
        _check(t, ranked, True, 300)
        _check(t, f"SELECT {columns} FROM g a WHERE pk = (SELECT MIN(pk) FROM g b WHERE b.j = a.j)",
               True, 200)
        _check(t, f"SELECT {columns} FROM g WHERE (j, pk) IN (SELECT j, MAX(pk) FROM g GROUP BY j)",
               True)


def test_values_that_are_equal_and_differ(t):
    """'a' and 'A' are one group: a condition that tells them apart may drop its first row."""
    definition = ("pk INT PRIMARY KEY, j VARCHAR(5) NOT NULL, e ENUM ('z', 'a', 'm') NOT NULL, "
                  "d DOUBLE NOT NULL, KEY (j, pk), KEY (j, e), KEY (d, pk)")
    for table, engine in (("g", "ROWAN"), ("other", "INNODB")):
        rows = ", ".join(f"({i}, '{'aAbB'[i % 4]}', {i % 3 + 1}, {('0e0', '-0e0', '1')[i % 3]})"
                         for i in range(1, 200))
        t.run(f"CREATE TABLE {table} ({definition}) ENGINE={engine}",
              f"INSERT INTO {table} VALUES {rows}", f"ANALYZE TABLE {table}")

    def ranked(condition, group="j"):
        return (f"SELECT * FROM (SELECT pk, j, d, RANK() OVER (PARTITION BY {group} ORDER BY pk) "
                f"AS r FROM g WHERE {condition}) x WHERE r = 1")

    _check(t, ranked("TRUE"), True, 30)
    _check(t, ranked("j = 'A'"), None)  # with one group left a plan may use the order of pk
    _check(t, ranked("TRUE", "d"), True, 40)
    for condition in ("j = 'a' COLLATE utf8mb4_bin", "HEX(j) = '41'", "j LIKE BINARY 'A'"):
        _check(t, ranked(condition), False)
    _check(t, ranked("CONCAT(d, '') = '0'", "d"), False)
    _check(t, "SELECT pk FROM g a WHERE pk = (SELECT MAX(pk) FROM g b WHERE b.j = a.j)", True, 60)
    _check(t, "SELECT pk FROM g a WHERE pk = (SELECT MAX(pk) FROM g b WHERE "
           "b.j = a.j COLLATE utf8mb4_bin)", False)
    _check(t, "SELECT pk FROM g a WHERE e = (SELECT MAX(e) FROM g b WHERE b.j = a.j)", False)
    _check(t, "SELECT j, ANY_VALUE(e) IS NULL, MAX(pk) FROM g WHERE j <> 'c' GROUP BY j", False)


def test_conditions_that_more_rows_can_meet(t):
    _fill(t)
    for query in (
            _correlated(extra="AND b.v = 1"),
            _correlated(extra="AND b.pk < 500"),
            _correlated(extra="AND b.v = a.v"),
            "SELECT pk FROM g a WHERE pk < (SELECT MAX(pk) FROM g b WHERE b.j = a.j)",
            "SELECT pk FROM g a WHERE k = (SELECT MAX(pk) FROM g b WHERE b.j = a.j)",
            "SELECT pk FROM g a WHERE pk = (SELECT MAX(pk) FROM g b WHERE b.j = a.j) OR v = 1",
            "SELECT pk FROM g a WHERE NOT pk = (SELECT MAX(pk) FROM g b WHERE b.j = a.j)",
            "SELECT pk FROM g a WHERE pk = (SELECT MAX(pk + 0) FROM g b WHERE b.j = a.j)",
            "SELECT pk FROM g a WHERE pk = (SELECT MAX(pk) FROM g b WHERE b.j = a.v)",
            "SELECT pk FROM g a WHERE pk = (SELECT AVG(pk) FROM g b WHERE b.j = a.j)",
            "SELECT pk FROM g a WHERE pk = (SELECT MAX(b.pk) FROM other b WHERE b.j = a.j)",
            "SELECT pk FROM g WHERE (j, pk) NOT IN (SELECT j, MAX(pk) FROM g GROUP BY j)",
            "SELECT pk FROM g WHERE ((j, pk) IN (SELECT j, MAX(pk) FROM g GROUP BY j)) IS FALSE",
            "SELECT pk FROM g WHERE (j, pk) IN (SELECT j, MAX(pk) FROM g WHERE v = 1 GROUP BY j)",
            "SELECT pk FROM g WHERE (j, pk) IN (SELECT v, MAX(pk) FROM g GROUP BY v)",
            "SELECT pk FROM g WHERE k IN (SELECT MAX(k) FROM g GROUP BY j)",
            "SELECT pk FROM g WHERE (j, pk) IN (SELECT j, MAX(pk) FROM g GROUP BY j UNION "
            "SELECT 1, 1)",
            "SELECT o.pk, a.pk FROM other o LEFT JOIN g a ON a.pk = o.pk AND a.pk = (SELECT "
            "MAX(pk) FROM other b WHERE b.j = a.j)"):
        expected = sorted(map(str, t.run(query.replace("FROM g", "FROM other"))))
        for hypergraph in OPTIMIZERS:
            t.run(f"SET optimizer_switch = 'hypergraph_optimizer={hypergraph}'")
            plan = _plan(t, query).split("Select #2")[0]  # inside it may be another shape
            t.true("only the" not in plan, f"{query}\n{plan}")
            t.equal(sorted(map(str, t.run(query))), expected, query)
        t.run("SET optimizer_switch = 'hypergraph_optimizer=off'")
    for lock in ("FOR UPDATE", "FOR SHARE"):
        query = f"{_correlated()} {lock}"
        t.true(_rows_read(t, query) > ROWS, query)  # EXPLAIN takes no notice of the clause
        t.equal(len(t.run(query)), GROUPS, query)


def test_rows_without_a_greater_one(t):
    _fill(t)
    for comparison in ("b.pk > a.pk", "b.pk < a.pk", "a.pk < b.pk", "b.v > a.v"):
        key = comparison != "b.v > a.v"  # no key has that order
        _check(t, f"SELECT a.pk, a.j, a.k FROM g a LEFT JOIN g b ON b.j = a.j AND {comparison} "
               "WHERE b.pk IS NULL", key, 60 * GROUPS if key else None)
        _check(t, "SELECT a.pk, a.j, a.k FROM g a WHERE NOT EXISTS (SELECT 1 FROM g b WHERE "
               f"b.j = a.j AND {comparison})", key, 60 * GROUPS if key else None)
    anti = "SELECT a.pk, b.pk FROM g a LEFT JOIN g b ON b.j = a.j AND b.pk > a.pk"
    _check(t, f"{anti} WHERE b.j IS NULL AND a.v = 1", True)
    _check(t, f"{anti} WHERE b.pk IS NULL AND a.j IN (2, 4)", True)
    for query in (f"{anti} AND b.v = 1 WHERE b.pk IS NULL",
                  f"{anti} AND a.v = 1 WHERE b.pk IS NULL",
                  f"{anti} WHERE b.k IS NULL", anti + " WHERE b.pk IS NULL OR a.v = 1",
                  "SELECT a.pk FROM g a LEFT JOIN g b ON b.j = a.j AND b.k > a.k "
                  "WHERE b.pk IS NULL",
                  "SELECT a.pk FROM g a LEFT JOIN g b ON b.j = a.j AND b.pk >= a.pk "
                  "WHERE b.pk IS NULL",
                  "SELECT a.pk FROM g a LEFT JOIN other b ON b.j = a.j AND b.pk > a.pk "
                  "WHERE b.pk IS NULL",
                  "SELECT a.pk FROM g a WHERE NOT EXISTS (SELECT 1 FROM g b WHERE b.j = a.j AND "
                  "b.pk > a.pk AND b.v = 2)",
                  "SELECT a.pk FROM g a WHERE EXISTS (SELECT 1 FROM g b WHERE b.j = a.j AND "
                  "b.pk > a.pk)"):
        _check(t, query.replace("FROM g a", "FROM g a IGNORE INDEX (jk)"), False)


def test_aggregates_and_first_rows_of_a_group(t):
    _fill(t)
    for function in ("MAX", "MIN"):
        for column in ("pk", "k"):
            _check(t, f"SELECT o.pk, (SELECT {function}({column}) FROM g z WHERE z.j = o.k) "
                   "FROM other o WHERE o.pk < 40", True, 800)
    _check(t, "SELECT o.pk, (SELECT MAX(pk) FROM g z WHERE z.j = o.k AND v = 1) FROM other o "
           "WHERE o.pk < 40", False)
    _check(t, "SELECT o.pk, (SELECT MAX(pk) - MIN(pk) FROM g z WHERE z.j = o.k) FROM other o "
           "WHERE o.pk < 40", False)
    groups = "(SELECT DISTINCT j FROM other) o"
    for order, limit in (("pk DESC", "3"), ("pk", "3"), ("k DESC, pk DESC", "2"), ("pk", "2, 2")):
        query = (f"SELECT o.j, l.pk FROM {groups}, LATERAL (SELECT pk, k FROM g z WHERE z.j = o.j "
                 f"ORDER BY {order} LIMIT {limit}) l")
        expected = sorted(t.run(query.replace("FROM g", "FROM other")))
        for hypergraph in OPTIMIZERS:
            t.run(f"SET optimizer_switch = 'hypergraph_optimizer={hypergraph}'")
            t.equal(sorted(t.run(query)), expected, query)
            read = _rows_read(t, query)
            t.true(read < 250 + 40, f"{read} rows read: {query}\n{_plan(t, query)}")
        t.run("SET optimizer_switch = 'hypergraph_optimizer=off'")


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
    writer.execute(f"UPDATE g SET j = 78 WHERE pk = {ROWS - 5}")
    t.equal(sorted(reader.query(query)), before, "an old snapshot")
    after = sorted(t.run(query))
    t.true((ROWS + 2, 77) in after and (ROWS - 5, 78) in after and (ROWS + 1, 1) in after,
           f"{after}")
    writer.execute("BEGIN")
    writer.execute("DELETE FROM g WHERE j = 3")
    t.equal(sorted(t.run(query)), after, "an unfinished transaction of another session")
    t.equal(sorted(writer.query(query)), [row for row in after if row[1] != 3], "its own view")
    writer.execute("ROLLBACK")
    reader.execute("COMMIT")
    t.equal(sorted(reader.query(query)), after, "a new snapshot")


def test_random_queries_beside_writers(t):
    """In one snapshot, which grows old beside writers: with pushdown and without, the same rows."""
    rounds, queries, keys = (20, 60, 400) if t.long else (4, 25, 150)
    pushed = 0
    for _ in range(rounds):
        table = RandomTable(t.random)
        t.run("DROP TABLE IF EXISTS r", table.create())
        t.run("BEGIN", *(table.insert(key) for key in range(1, keys)), "COMMIT", "ANALYZE TABLE r")
        changes = [table.change(keys) for _ in range(40 * queries)]
        asked = [table.query() for _ in range(queries)]
        stop = threading.Event()
        writer = t.client()

        def write(changes=changes, stop=stop, writer=writer):
            for change in changes:
                if stop.is_set():
                    return
                writer.execute(change)

        def read(asked=asked, stop=stop):
            count = 0
            try:
                for number, query in enumerate(asked):
                    if number % 8 == 0:
                        t.run("COMMIT", "START TRANSACTION WITH CONSISTENT SNAPSHOT")
                    count += _compare(t, query)
            finally:
                stop.set()
            return count

        thread = threading.Thread(target=write)
        thread.start()
        try:
            pushed += read()
        finally:
            thread.join()
        t.run("COMMIT")
        t.check_table("r")
    t.true(pushed > rounds * queries // 10, f"{pushed} queries were pushed")


def _compare(t, query):
    """Whether it was pushed."""
    t.run(f"SET optimizer_switch = 'hypergraph_optimizer={t.random.choice(OPTIMIZERS)}'",
          "SET rowan_pushdown_groupwise = OFF")
    ordered = list if " ORDER BY r." in query else sorted
    expected = ordered(map(str, t.run(query)))
    t.run("SET rowan_pushdown_groupwise = ON")
    plan = _plan(t, query)
    t.equal(ordered(map(str, t.run(query))), expected, f"{query}\n{plan}\n"
            f"{t.run('SHOW CREATE TABLE r')[0][1]}")
    return "only the" in plan


if __name__ == "__main__":
    main(globals())
