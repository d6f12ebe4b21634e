# SPDX-License-Identifier: GPL-2.0-only
"""The first rows of each group below plans that want an order, read an index alone or have hints
(docs/groupwise.md)."""
from groupwise_queries import (GROUPS, OPTIMIZERS, ROWS, check, correlated, fill, plan_of,
                               ranking, rows_read)


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
                check(t, ranking(limit, function, f"PARTITION BY j ORDER BY {order}"), True, 900)
    check(t, ranking("r <= 900", "RANK()", "PARTITION BY j ORDER BY k, v"), False)
    both = ("SELECT * FROM (SELECT pk, j, k, {} OVER (PARTITION BY j ORDER BY k) AS r, {} OVER "
            "(PARTITION BY j ORDER BY k, v, pk) AS n FROM g) d WHERE {}")
    for limit in ("r <= 2", "n <= 2", "n <= 3 AND r <= 1"):
        check(t, both.format("RANK()", "ROW_NUMBER()", limit), True, 900)
        check(t, both.format("DENSE_RANK()", "RANK()", limit), True, 900)
    first = ("SELECT pk FROM g a WHERE pk = (SELECT pk FROM g b WHERE b.j = a.j "
             "ORDER BY k, v DESC, pk LIMIT 1)")
    check(t, first, True)


def test_order_of_the_answer(t):
    """Where the plan leaves the order to a scan of another index, the first rows are sorted."""
    fill(t)
    anti = "SELECT a.pk, a.j FROM g a LEFT JOIN g b ON b.j = a.j AND b.pk > a.pk WHERE b.pk IS NULL"
    listed = "SELECT pk, j, k FROM g a WHERE (j, pk) IN (SELECT j, MAX(pk) FROM g b GROUP BY j)"
    for order in ("pk", "pk DESC", "pk DESC LIMIT 7", "j, pk", "j DESC, pk DESC", "k, pk"):
        for select in (correlated('pk', 'MIN'), correlated('pk', 'MAX'), anti, listed):
            query = f"{select} ORDER BY a.{order}"
            expected = t.run(query.replace("FROM g", "FROM other").replace("JOIN g", "JOIN other"))
            for hypergraph in OPTIMIZERS:
                t.run(f"SET optimizer_switch = 'hypergraph_optimizer={hypergraph}'")
                t.rows(query, expected)
                read = rows_read(t, query)
                t.true(read < 20 * GROUPS, f"{read} rows read: {query}\n{plan_of(t, query)}")
    t.run("SET optimizer_switch = 'hypergraph_optimizer=off'")
    # A LIMIT that is reached before all groups are visited.
    many = ("SELECT pk FROM g a WHERE pk = (SELECT MAX(pk) FROM g b WHERE b.j = a.j AND "
            "b.k = a.k) ORDER BY pk DESC LIMIT 2")
    t.rows(many, t.run(many.replace("FROM g", "FROM other")))


def test_order_below_a_sort(t):
    """Rows are grouped in the order of an index, and the groups are sorted."""
    fill(t)
    for key in ("j", "k", "v", "pk", "j, k", "k, j"):
        for function in ("MIN", "MAX"):
            query = (f"SELECT {key}, COUNT(*) AS n FROM g a WHERE pk = (SELECT {function}(pk) "
                     f"FROM g b WHERE b.j = a.j) GROUP BY {key} ORDER BY n, {key}")
            check(t, query, None)
            check(t, query.replace("ORDER BY n", "ORDER BY n DESC"), None)
    t.run("ALTER TABLE g ADD KEY k (k)", "ALTER TABLE other ADD KEY k (k)", "ANALYZE TABLE g")
    check(t, "SELECT k, COUNT(*) AS n FROM g a WHERE pk = (SELECT MAX(pk) FROM g b WHERE b.j = "
           "a.j) GROUP BY k ORDER BY n, k", None)




def test_hints(t):
    """An index that the statement may not use is not used for groups either."""
    fill(t)
    ranked = ("SELECT * FROM (SELECT {0} pk, j, RANK() OVER (PARTITION BY j ORDER BY pk DESC) AS r "
              "FROM g {1}) d WHERE r = 1")
    equal = ("SELECT {0} pk FROM g {1} WHERE pk = (SELECT MAX(pk) FROM other b WHERE b.j = g.j) "
             "AND pk IN (SELECT MAX(pk) FROM g {1} GROUP BY j)")
    off = (("", "IGNORE INDEX (j, jk)"), ("", "USE INDEX ()"), ("", "FORCE INDEX (PRIMARY)"),
           ("", "IGNORE INDEX FOR JOIN (j, jk)"), ("/*+ NO_INDEX(g j, jk) */", ""),
           ("/*+ NO_INDEX(g) */", ""), ("/*+ NO_JOIN_INDEX(g j, jk) */", ""),
           ("/*+ INDEX(g PRIMARY) */", ""))
    on = (("", "FORCE INDEX (j)"), ("", "IGNORE INDEX FOR ORDER BY (j, jk)"),
          ("", "IGNORE INDEX FOR GROUP BY (jk)"), ("/*+ NO_ORDER_INDEX(g j, jk) */", ""),
          ("/*+ INDEX(g j) */", ""), ("/*+ NO_INDEX(g jk) */", ""))
    for hints, pushed in ((off, False), (on, True)):
        for query_hint, table_hint in hints:
            # InnoDB is asked for the answer only: its plan may not need the same names.
            check(t, ranked.format(query_hint, table_hint), pushed)
    expected = t.run(equal.format("", "") + " ORDER BY pk")
    for query_hint, table_hint in off + on:
        t.rows(equal.format(query_hint, table_hint) + " ORDER BY pk", expected)
    switched = ranked.format("/*+ SET_VAR(rowan_pushdown_groupwise = OFF) */", "")
    t.true("only the" in plan_of(t, switched), "SET_VAR sets no variable of a plugin")


def test_virtual_columns_of_an_index_read_alone(t):
    for table, engine in (("g", "ROWAN"), ("other", "INNODB")):
        t.run(f"CREATE TABLE {table} (pk INT PRIMARY KEY, a INT, j INT AS (a % 7) VIRTUAL, "
              f"w INT AS (a % 11) VIRTUAL, KEY (j, pk), KEY (w, j)) ENGINE={engine}",
              f"INSERT INTO {table} (pk, a) WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT "
              f"i + 1 FROM s WHERE i < 500) SELECT i, i * 7 % 60 FROM s", f"ANALYZE TABLE {table}")
    for columns in ("pk", "pk, j", "pk, a", "j, w"):
        for window in ("PARTITION BY j ORDER BY pk", "PARTITION BY j ORDER BY pk DESC"):
            check(t, f"SELECT * FROM (SELECT {columns}, RANK() OVER ({window}) AS r FROM g) d "
                   "WHERE r <= 2", True)
    check(t, "SELECT j, MAX(pk) FROM g GROUP BY j", None)
    check(t, "SELECT j, MAX(pk) FROM g WHERE j IN (1, 2, 5) GROUP BY j", None)
    check(t, "SELECT w, MIN(j) FROM g GROUP BY w", None)
    check(t, "SELECT pk FROM g a WHERE pk = (SELECT MAX(pk) FROM g b WHERE b.j = a.j)", True)
    check(t, "SELECT pk, j, w FROM g a WHERE j = (SELECT MIN(j) FROM g b WHERE b.w = a.w)", True)
