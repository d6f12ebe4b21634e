# SPDX-License-Identifier: GPL-2.0-only
"""The first rows of each group: which queries read only those, that the answers stay the same, and
which queries are left alone (docs/groupwise.md)."""
import threading

from groupwise_queries import (GROUPS, OPTIMIZERS, ROWS, check, correlated, fill, plan_of,
                               ranking, rows_read)
from random_groupwise import RandomTable


def test_limits_on_ranks(t):
    fill(t)
    for function in ("RANK()", "ROW_NUMBER()", "DENSE_RANK()"):
        for limit, rows in (("r = 1", 1), ("r <= 3", 3), ("3 > r", 2), ("r BETWEEN 1 AND 2", 2),
                            ("r = 2", 2), ("r < 1", 1), ("r <= 2 AND r < 4 AND v.j > 2", 2)):
            query = ranking(limit.replace("v.j", "d.j"), function)
            check(t, query, True, 8 * GROUPS * rows + 20)
    # The other end of the index, ties, NULLs, part of the order.
    for window in ("PARTITION BY j ORDER BY pk", "PARTITION BY j ORDER BY k",
                   "PARTITION BY j ORDER BY k DESC", "PARTITION BY j ORDER BY k DESC, pk DESC",
                   "PARTITION BY j, k ORDER BY pk", "PARTITION BY k, j ORDER BY pk DESC"):
        for function in ("RANK()", "DENSE_RANK()"):
            for limit in ("r = 1", "r <= 4"):
                check(t, ranking(limit, function, window), True)
    check(t, ranking("r <= 5", "ROW_NUMBER()", "ORDER BY pk DESC"), True, 40)
    check(t, ranking("r = 1", inner="WHERE j IN (2, 3) OR j > 7"), True, 200)


def test_where_a_rank_may_stand(t):
    fill(t)
    block = "SELECT pk, j, RANK() OVER (PARTITION BY j ORDER BY pk DESC) AS r FROM g"
    check(t, f"WITH d AS ({block}) SELECT * FROM d WHERE r = 1", True, 100)
    check(t, f"SELECT d.*, x.v FROM ({block}) d JOIN other x ON x.pk = d.pk WHERE d.r <= 2", True)
    check(t, "SELECT * FROM (SELECT pk, j, RANK() OVER w AS a, ROW_NUMBER() OVER w AS b FROM g "
           "WINDOW w AS (PARTITION BY j ORDER BY pk DESC)) d WHERE a <= 3 AND b = 2", True, 400)
    t.run(f"CREATE VIEW ranked AS {block}")
    expected = t.run(f"SELECT pk, j FROM ({block}) d WHERE r + 0 = 1 ORDER BY pk")
    t.true("only the first row" in plan_of(t, "SELECT pk, j FROM ranked WHERE r = 1"), "a view")
    t.rows("SELECT pk, j FROM ranked WHERE r = 1 ORDER BY pk", expected)
    t.run("SET @wanted = 1", "PREPARE p FROM 'SELECT pk, j FROM ranked WHERE r <= ? ORDER BY pk'")
    for _ in range(2):
        t.rows("EXECUTE p USING @wanted", expected)
        t.equal(len(t.run("SET @two = 2", "EXECUTE p USING @two")), 2 * GROUPS, "another limit")
    t.true(rows_read(t, "EXECUTE p USING @wanted") < 100, "rows read by a prepared statement")
    if "on" in OPTIMIZERS:  # as QUALIFY asks for
        t.run("SET optimizer_switch = 'hypergraph_optimizer=on'")
        t.rows("SELECT pk, j FROM g QUALIFY RANK() OVER (PARTITION BY j ORDER BY pk DESC) = 1 "
               "ORDER BY pk", expected)
        t.run("SET optimizer_switch = 'hypergraph_optimizer=off'")


def test_ranks_that_need_every_row(t):
    fill(t)
    for query in (
            ranking("r = 1", "COUNT(*)"), ranking("r = 1", "NTILE(3)"),
            ranking("r >= 1"), ranking("r = 1 OR d.j = 3"), ranking("r <> 3"),
            ranking("r = 1", inner="WHERE v = 1"),  # drops rows inside of groups
            ranking("r = 1", inner="WHERE j + pk > 10"),
            ranking("r = 1", window="PARTITION BY v ORDER BY pk"),  # no such key
            ranking("r = 1", window="PARTITION BY j ORDER BY v"),
            ranking("r = 1", window="PARTITION BY j + 1 ORDER BY pk"),
            ranking("r = 1", window="PARTITION BY j"),
            ranking("r = 1", window="PARTITION BY j ORDER BY v, pk DESC"),
            ranking("r = 1", inner="LIMIT 100"),
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
        check(t, query, False)


def test_rows_equal_to_the_greatest(t):
    fill(t)
    for function in ("MAX", "MIN"):
        for column in ("pk", "k"):
            most = 20 * GROUPS if column == "pk" else None  # many rows have the greatest k
            check(t, correlated(column, function), True, most)
            check(t, f"SELECT pk, j, k FROM g WHERE (j, {column}) IN (SELECT j, {function}("
                   f"{column}) FROM g GROUP BY j)", True, most)
            check(t, f"SELECT pk, j FROM g WHERE ({column}, j) IN (SELECT {function}({column}), j "
                   "FROM g WHERE j < 5 GROUP BY j HAVING COUNT(*) > 3)", True)
    check(t, correlated(extra="AND b.j > 3"), True)
    check(t, correlated(extra="AND a.v = 1"), True)
    check(t, correlated(outer="AND v = 1 AND j <> 4"), True)
    check(t, correlated(outer="AND j = 4"), True, 10)
    check(t, correlated(outer="AND j BETWEEN 2 AND 4"), True, 60)
    check(t, "SELECT pk, j FROM g WHERE pk IN (SELECT MAX(pk) FROM g GROUP BY j)", True, 200)
    check(t, "SELECT pk, j FROM g WHERE pk IN (SELECT MIN(pk) FROM g GROUP BY k, j)", True)
    check(t, "SELECT a.pk, o.v FROM g a JOIN other o ON o.pk = a.pk WHERE a.pk = (SELECT MAX(pk) "
           "FROM g b WHERE b.j = a.j)", True)
    check(t, "SELECT pk FROM g a WHERE pk = (SELECT pk FROM g b WHERE b.j = a.j "
           "ORDER BY pk DESC LIMIT 1)", True, 200)
    check(t, "SELECT pk FROM g a WHERE pk = (SELECT pk FROM g b WHERE b.j = a.j "
           "ORDER BY k, pk LIMIT 1)", True, 200)
    check(t, "SELECT j, COUNT(*), MAX(k) FROM g a WHERE pk = (SELECT MAX(pk) FROM g b "
           "WHERE b.j = a.j) GROUP BY j", True)
    check(t, "SELECT a.pk FROM g a WHERE a.pk = (SELECT MAX(pk) FROM g b WHERE b.j = a.j AND "
           "b.k = a.k)", True)


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
        check(t, ranked, True, 300)
        check(t, f"SELECT {columns} FROM g a WHERE pk = (SELECT MIN(pk) FROM g b WHERE b.j = a.j)",
               True, 200)
        check(t, f"SELECT {columns} FROM g WHERE (j, pk) IN (SELECT j, MAX(pk) FROM g GROUP BY j)",
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

    def ranking(condition, group="j"):
        return (f"SELECT * FROM (SELECT pk, j, d, RANK() OVER (PARTITION BY {group} ORDER BY pk) "
                f"AS r FROM g WHERE {condition}) x WHERE r = 1")

    check(t, ranking("TRUE"), True, 30)
    check(t, ranking("j = 'A'"), None)  # with one group left a plan may use the order of pk
    check(t, ranking("TRUE", "d"), True, 40)
    for condition in ("j = 'a' COLLATE utf8mb4_bin", "HEX(j) = '41'", "j LIKE BINARY 'A'"):
        check(t, ranking(condition), False)
    check(t, ranking("CONCAT(d, '') = '0'", "d"), False)
    check(t, "SELECT pk FROM g a WHERE pk = (SELECT MAX(pk) FROM g b WHERE b.j = a.j)", True, 60)
    check(t, "SELECT pk FROM g a WHERE pk = (SELECT MAX(pk) FROM g b WHERE "
           "b.j = a.j COLLATE utf8mb4_bin)", False)
    check(t, "SELECT pk FROM g a WHERE e = (SELECT MAX(e) FROM g b WHERE b.j = a.j)", False)
    check(t, "SELECT j, ANY_VALUE(e) IS NULL, MAX(pk) FROM g WHERE j <> 'c' GROUP BY j", False)


def test_sets_of_64_members(t):
    """A sort of the server takes them for signed numbers, an index has them as unsigned ones."""
    members = ", ".join(f"'m{i}'" for i in range(64))
    t.run(f"CREATE TABLE g (pk INT PRIMARY KEY, j INT NOT NULL, s SET ({members}) NOT NULL, "
          "f SET ('a', 'b') NOT NULL, KEY (j, s), KEY (j, f))",
          "INSERT INTO g VALUES " + ", ".join(
              f"({i}, {i % 10}, {1 << i % 64}, {i % 4})" for i in range(1, 1000)),
          "ANALYZE TABLE g")
    for order, pushed in (("s", False), ("s DESC", False), ("f", True), ("f DESC", True)):
        ranked = ("SELECT * FROM (SELECT pk, j, RANK() OVER (PARTITION BY j ORDER BY "
                  f"{order}) AS r FROM g) d WHERE r = 1 ORDER BY pk")
        for hypergraph in OPTIMIZERS:  # it ranks them in an index's order, without a sort
            t.run(f"SET optimizer_switch = 'hypergraph_optimizer={hypergraph}'")
            t.equal("only the" in plan_of(t, ranked), pushed, f"pushed: {ranked}")
            rows = t.run(ranked)
            t.run("SET rowan_pushdown_groupwise = OFF")
            t.rows(ranked, rows)
            t.run("SET rowan_pushdown_groupwise = ON")
    t.run("SET optimizer_switch = 'hypergraph_optimizer=off'")


def test_conditions_that_more_rows_can_meet(t):
    fill(t)
    for query in (
            correlated(extra="AND b.v = 1"),
            correlated(extra="AND b.pk < 500"),
            correlated(extra="AND b.v = a.v"),
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
            plan = plan_of(t, query).split("Select #2")[0]  # inside it may be another shape
            t.true("only the" not in plan, f"{query}\n{plan}")
            t.equal(sorted(map(str, t.run(query))), expected, query)
        t.run("SET optimizer_switch = 'hypergraph_optimizer=off'")
    for lock in ("FOR UPDATE", "FOR SHARE"):
        query = f"{correlated()} {lock}"
        t.true(rows_read(t, query) > ROWS, query)  # EXPLAIN takes no notice of the clause
        t.equal(len(t.run(query)), GROUPS, query)


def test_rows_without_a_greater_one(t):
    fill(t)
    for comparison in ("b.pk > a.pk", "b.pk < a.pk", "a.pk < b.pk", "b.v > a.v"):
        key = comparison != "b.v > a.v"  # no key has that order
        check(t, f"SELECT a.pk, a.j, a.k FROM g a LEFT JOIN g b ON b.j = a.j AND {comparison} "
               "WHERE b.pk IS NULL", key, 60 * GROUPS if key else None)
        check(t, "SELECT a.pk, a.j, a.k FROM g a WHERE NOT EXISTS (SELECT 1 FROM g b WHERE "
               f"b.j = a.j AND {comparison})", key, 60 * GROUPS if key else None)
    anti = "SELECT a.pk, b.pk FROM g a LEFT JOIN g b ON b.j = a.j AND b.pk > a.pk"
    check(t, f"{anti} WHERE b.j IS NULL AND a.v = 1", True)
    check(t, f"{anti} WHERE b.pk IS NULL AND a.j IN (2, 4)", True)
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
        check(t, query.replace("FROM g a", "FROM g a IGNORE INDEX (jk)"), False)


def test_aggregates_and_first_rows_of_a_group(t):
    fill(t)
    for function in ("MAX", "MIN"):
        for column in ("pk", "k"):
            check(t, f"SELECT o.pk, (SELECT {function}({column}) FROM g z WHERE z.j = o.k) "
                   "FROM other o WHERE o.pk < 40", True, 800)
    check(t, "SELECT o.pk, (SELECT MAX(pk) FROM g z WHERE z.j = o.k AND v = 1) FROM other o "
           "WHERE o.pk < 40", False)
    check(t, "SELECT o.pk, (SELECT MAX(pk) - MIN(pk) FROM g z WHERE z.j = o.k) FROM other o "
           "WHERE o.pk < 40", False)
    groups = "(SELECT DISTINCT j FROM other) o"
    for order, limit in (("pk DESC", "3"), ("pk", "3"), ("k DESC, pk DESC", "2"), ("pk", "2, 2")):
        query = (f"SELECT o.j, l.pk FROM {groups}, LATERAL (SELECT pk, k FROM g z WHERE z.j = o.j "
                 f"ORDER BY {order} LIMIT {limit}) l")
        expected = sorted(t.run(query.replace("FROM g", "FROM other")))
        for hypergraph in OPTIMIZERS:
            t.run(f"SET optimizer_switch = 'hypergraph_optimizer={hypergraph}'")
            t.equal(sorted(t.run(query)), expected, query)
            read = rows_read(t, query)
            t.true(read < 250 + 40, f"{read} rows read: {query}\n{plan_of(t, query)}")
        t.run("SET optimizer_switch = 'hypergraph_optimizer=off'")


def test_statements_that_are_left_alone(t):
    fill(t)
    query = ranking("r = 1", columns="pk")
    t.true("only the" in plan_of(t, query), "pushed otherwise")
    for prefix in ("INSERT INTO other (pk, j, v) SELECT pk + 100000, 1, 1 FROM",
                   "DELETE FROM other WHERE pk IN (SELECT pk FROM"):
        inner = f"{prefix} ({query}) z" + (")" if prefix.startswith("DELETE") else "")
        t.true("only the" not in plan_of(t, inner), inner)
    for isolation, pushed in (("READ UNCOMMITTED", False), ("READ COMMITTED", True),
                              ("REPEATABLE READ", True), ("SERIALIZABLE", False)):
        t.run(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}", "BEGIN")
        t.equal("only the" in plan_of(t, query), pushed, isolation)
        t.equal(len(t.run(query)), GROUPS, isolation)
        t.run("COMMIT")
    t.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    t.run("CREATE TABLE parts (pk INT PRIMARY KEY, j INT NOT NULL, k INT, KEY j (j, pk DESC)) "
          "PARTITION BY HASH (pk) PARTITIONS 3", "INSERT INTO parts SELECT pk, j, k FROM g",
          "CREATE TEMPORARY TABLE mine (pk INT PRIMARY KEY, j INT NOT NULL, k INT, "
          "KEY j (j, pk DESC))", "INSERT INTO mine SELECT pk, j, k FROM g")
    expected = t.run(query + " ORDER BY pk")
    for table in ("parts", "mine", "other"):
        t.true("only the" not in plan_of(t, query.replace("FROM g", f"FROM {table}")), table)
        t.rows(query.replace("FROM g", f"FROM {table}") + " ORDER BY pk", expected)
    hinted = query.replace("FROM g", "FROM g IGNORE INDEX (j)")
    t.true("only the" not in plan_of(t, hinted), "IGNORE INDEX")
    t.run("ALTER TABLE g ALTER INDEX j INVISIBLE")
    t.true("only the" not in plan_of(t, query), "an invisible index")


def test_rows_of_the_snapshot(t):
    """A group's first row is the first one that the statement may see."""
    fill(t)
    query = ranking("r = 1", columns="pk, j")
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
    plan = plan_of(t, query)
    t.equal(ordered(map(str, t.run(query))), expected, f"{query}\n{plan}\n"
            f"{t.run('SHOW CREATE TABLE r')[0][1]}")
    return "only the" in plan
