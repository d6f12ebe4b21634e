# SPDX-License-Identifier: GPL-2.0-only
"""Every way the server reads a table: keys, ranges, both directions, covering reads, counts."""


def _fill(t, definition="id INT PRIMARY KEY, a INT, b INT, c VARCHAR(20), KEY ab (a, b), KEY (c)",
          rows=200):
    t.run(f"CREATE TABLE r ({definition})")
    values = ", ".join(f"({i}, {i % 10}, {'NULL' if i % 7 == 0 else i % 23}, 'c{i % 31:03}')"
                       for i in range(1, rows + 1))
    t.run(f"INSERT INTO r VALUES {values}", "ANALYZE TABLE r")


def _expected(rows, keep):
    data = [(i, i % 10, None if i % 7 == 0 else i % 23, f"c{i % 31:03}")
            for i in range(1, rows + 1)]
    return [row for row in data if keep(row)]


def _status(t, name):
    return int(t.run(f"SHOW GLOBAL STATUS LIKE 'Rowan_{name}'")[0][1])


def test_point_and_range_on_the_primary_key(t):
    _fill(t)
    t.rows("SELECT id FROM r WHERE id = 77", [(77,)])
    t.rows("SELECT id FROM r WHERE id = 777", [])
    t.rows("SELECT id FROM r WHERE id > 10 AND id < 14", [(11,), (12,), (13,)])
    t.rows("SELECT id FROM r WHERE id >= 198 ORDER BY id", [(198,), (199,), (200,)])
    t.rows("SELECT id FROM r WHERE id <= 3 ORDER BY id DESC", [(3,), (2,), (1,)])
    t.rows("SELECT id FROM r WHERE id IN (5, 500, 3) ORDER BY id", [(3,), (5,)])
    t.rows("SELECT MIN(id), MAX(id) FROM r", [(1, 200)])
    t.rows("SELECT id FROM r ORDER BY id DESC LIMIT 2", [(200,), (199,)])


def test_secondary_index_both_ways(t):
    _fill(t)
    for order in ("ASC", "DESC"):
        rows = t.run(f"SELECT id, a, b, c FROM r FORCE INDEX (ab) WHERE a = 3 "
                     f"ORDER BY a {order}, b {order}, id {order}")
        expected = sorted(_expected(200, lambda r: r[1] == 3),
                          key=lambda r: (r[2] is not None, r[2] or 0, r[0]),
                          reverse=order == "DESC")
        t.equal(rows, expected, f"a = 3, {order}")
    for condition, keep in (
            ("a > 7", lambda r: r[1] > 7), ("a >= 8", lambda r: r[1] >= 8),
            ("a BETWEEN 2 AND 3", lambda r: 2 <= r[1] <= 3),
            ("a = 4 AND b > 10", lambda r: r[1] == 4 and r[2] is not None and r[2] > 10),
            ("a = 4 AND b <= 10", lambda r: r[1] == 4 and r[2] is not None and r[2] <= 10),
            ("a = 7 AND b IS NULL", lambda r: r[1] == 7 and r[2] is None),
            ("a < 0", lambda r: False)):
        rows = t.run(f"SELECT id, a, b, c FROM r FORCE INDEX (ab) WHERE {condition} ORDER BY id")
        t.equal(rows, _expected(200, keep), condition)


def test_descending_and_nullable_keys(t):
    t.run("CREATE TABLE d (id INT PRIMARY KEY, a INT, b INT, KEY k (a DESC, b))",
          "INSERT INTO d VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, NULL, 4), (5, 2, NULL)")
    t.rows("SELECT id FROM d FORCE INDEX (k) ORDER BY a DESC, b", [(3,), (5,), (2,), (1,), (4,)])
    t.rows("SELECT id FROM d FORCE INDEX (k) ORDER BY a, b DESC", [(4,), (1,), (2,), (5,), (3,)])
    t.rows("SELECT id FROM d FORCE INDEX (k) WHERE a >= 2 ORDER BY id", [(2,), (3,), (5,)])
    t.rows("SELECT id FROM d FORCE INDEX (k) WHERE a < 3 ORDER BY id", [(1,), (2,), (5,)])
    t.rows("SELECT id FROM d FORCE INDEX (k) WHERE a IS NULL", [(4,)])
    t.rows("SELECT id FROM d FORCE INDEX (k) WHERE a IS NOT NULL ORDER BY id",
           [(1,), (2,), (3,), (5,)])
    t.check_table("d")


def test_covering_reads_never_visit_the_row(t):
    _fill(t)
    if t.engine != "ROWAN":
        t.skip("counts Rowan's own counters")
    before = _status(t, "clustered_lookups"), _status(t, "covering_reads")
    t.rows("SELECT COUNT(b), SUM(id) FROM r FORCE INDEX (ab) WHERE a = 3",
           [(len(_expected(200, lambda r: r[1] == 3 and r[2] is not None)),
             str(sum(r[0] for r in _expected(200, lambda r: r[1] == 3))))])
    t.equal(_status(t, "clustered_lookups"), before[0], "clustered rows visited")
    t.equal(_status(t, "covering_reads"), before[1] + 20, "entries read")
    t.run("BEGIN", "UPDATE r SET b = 99 WHERE id = 3")
    reader = t.client()
    t.equal(reader.query("SELECT a, b, id FROM r FORCE INDEX (ab) WHERE a = 3 AND id = 3"),
            [(3, 3, 3)], "old version from the entry")
    t.run("ROLLBACK")


def test_loose_scan_for_group_by(t):
    t.run("CREATE TABLE g (id INT PRIMARY KEY, j INT, v INT, KEY (j))")
    t.run("INSERT INTO g VALUES " + ", ".join(f"({i}, {i % 5}, {i})" for i in range(1, 2001)),
          "ANALYZE TABLE g")
    plan = t.run("EXPLAIN FORMAT=TREE SELECT j, MAX(id) FROM g GROUP BY j")[0][0]
    t.true("index skip scan for grouping" in plan, plan)
    t.rows("SELECT j, MAX(id) FROM g GROUP BY j",
           [(0, 2000), (1, 1996), (2, 1997), (3, 1998), (4, 1999)])
    t.rows("SELECT j, MIN(id) FROM g GROUP BY j", [(0, 5), (1, 1), (2, 2), (3, 3), (4, 4)])
    t.rows("SELECT DISTINCT j FROM g", [(0,), (1,), (2,), (3,), (4,)])


def test_group_seeks_do_not_begin_at_the_root(t):
    t.run("CREATE TABLE g (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, KEY ab (a, b))",
          "SET SESSION cte_max_recursion_depth = 1000000",
          "INSERT INTO g WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE "
          "i < 59999) SELECT i, i % 60, i FROM n", "ANALYZE TABLE g")

    def descents():
        return int(t.run("SHOW GLOBAL STATUS LIKE 'Rowan_seeks_descended'")[0][1])
    for statement, expected in (
            ("SELECT COUNT(*), SUM(m) FROM (SELECT a, MIN(b) m FROM g GROUP BY a) q",
             (60, "1770")),
            ("SELECT COUNT(*), SUM(m) FROM (SELECT a, MAX(b) m FROM g GROUP BY a) q",
             (60, "3598170")),
            ("SELECT COUNT(DISTINCT a), 0 FROM g", (60, 0)),
            ("SELECT /*+ SKIP_SCAN(g ab) */ COUNT(*), MIN(a) FROM g WHERE b > 59990", (9, 51))):
        before = descents()
        t.rows(statement, [expected])
        if t.engine == "ROWAN":  # other sessions of this server are quiet
            t.true(descents() - before < 20, f"{statement}: {descents() - before} descents")


def test_skip_scan_over_a_prefix_part(t):
    """The server takes the next group's prefix from the record: it must be the row's."""
    t.run("CREATE TABLE s (id INT AUTO_INCREMENT PRIMARY KEY, c CHAR(5) CHARACTER SET latin1 NOT "
          "NULL, a BIGINT NOT NULL, b SMALLINT NOT NULL, KEY k (c(1), a, b))")
    t.run("INSERT INTO s (c, a, b) VALUES " + ", ".join(
        f"('{'mzr0b'[n % 5]}{n % 3}', {n % 90}, {n % 17})" for n in range(900)))
    t.run("ANALYZE TABLE s")
    expected = t.run("SELECT COUNT(*), MIN(b), MAX(b) FROM s IGNORE INDEX (k) WHERE a <= 10")
    t.rows("SELECT /*+ SKIP_SCAN(s k) */ COUNT(*), MIN(b), MAX(b) FROM s WHERE a <= 10", expected)


def test_index_condition_pushdown(t):
    _fill(t)
    plan = t.run("EXPLAIN FORMAT=TREE SELECT * FROM r FORCE INDEX (ab) "
                 "WHERE a > 5 AND b % 2 = 0")[0][0]
    t.true("index condition" in plan, plan)
    keep = lambda r: r[1] > 5 and r[2] is not None and r[2] % 2 == 0  # noqa: E731
    t.rows("SELECT id, a, b, c FROM r FORCE INDEX (ab) WHERE a > 5 AND b % 2 = 0 ORDER BY id",
           _expected(200, keep))
    t.rows("SELECT id FROM r FORCE INDEX (ab) WHERE a BETWEEN 5 AND 6 AND b % 2 = 0 "
           "ORDER BY a DESC, b DESC, id DESC LIMIT 1",
           [max(((r[1], r[2], r[0]) for r in _expected(200, keep) if 5 <= r[1] <= 6))[2:]])


def test_index_merge_and_sort_by_reference(t):
    _fill(t)
    keep = lambda r: r[1] == 3 or r[3] == "c005"  # noqa: E731
    t.rows("SELECT /*+ INDEX_MERGE(r) */ id, a, b, c FROM r WHERE a = 3 OR c = 'c005' ORDER BY id",
           _expected(200, keep))
    t.rows("SELECT id FROM r ORDER BY c, id LIMIT 3", [(31,), (62,), (93,)])
    t.rows("SELECT id, c FROM r WHERE a = 9 ORDER BY c DESC, id LIMIT 2",
           sorted(((r[0], r[3]) for r in _expected(200, lambda r: r[1] == 9)),
                  key=lambda r: (-int(r[1][1:]), r[0]))[:2])


def test_joins_and_subqueries(t):
    _fill(t)
    t.rows("SELECT COUNT(*) FROM r x JOIN r y ON x.id = y.b",
           [(len([1 for r in _expected(200, lambda r: r[2]) if 1 <= r[2] <= 200]),)])
    t.rows("SELECT COUNT(*) FROM r x JOIN r y ON x.c = y.c AND x.a = y.a",
           [(sum(1 for x in _expected(200, lambda r: True) for y in _expected(200, lambda r: True)
                 if x[3] == y[3] and x[1] == y[1]),)])
    t.rows("SELECT id FROM r x WHERE id = (SELECT MAX(id) FROM r y WHERE y.a = x.a) ORDER BY id",
           [(i,) for i in range(191, 201)])
    t.rows("SELECT COUNT(*) FROM r WHERE a IN (SELECT b FROM r WHERE id < 5)", [(80,)])


def test_counting(t):
    _fill(t)
    t.rows("SELECT COUNT(*) FROM r", [(200,)])
    t.rows("SELECT COUNT(*) FROM r FORCE INDEX (c)", [(200,)])
    writer = t.client()
    writer.execute("BEGIN")
    writer.execute("DELETE FROM r WHERE id <= 50")
    t.rows("SELECT COUNT(*) FROM r", [(200,)])
    t.equal(writer.value("SELECT COUNT(*) FROM r"), 150)
    writer.execute("COMMIT")
    t.rows("SELECT COUNT(*) FROM r", [(150,)])
    t.run("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")
    writer.execute("BEGIN")
    writer.execute("DELETE FROM r WHERE id <= 60")
    t.rows("SELECT COUNT(*) FROM r", [(140,)])
    writer.execute("ROLLBACK")


def test_handler_statements(t):
    _fill(t, rows=20)
    t.run("HANDLER r OPEN")
    t.equal(t.run("HANDLER r READ `PRIMARY` = (5)")[0][0], 5)
    t.equal(t.run("HANDLER r READ `PRIMARY` NEXT")[0][0], 6)
    t.equal(t.run("HANDLER r READ `PRIMARY` NEXT")[0][0], 7)
    t.equal(t.run("HANDLER r READ `PRIMARY` PREV")[0][0], 6)
    t.equal(t.run("HANDLER r READ ab FIRST")[0][1], 0)
    t.equal(t.run("HANDLER r READ ab LAST")[0][1], 9)
    t.equal(t.run("HANDLER r READ ab >= (4)")[0][1], 4)
    t.equal(t.run("HANDLER r READ ab < (4)")[0][1], 3)
    t.equal(t.run("HANDLER r READ FIRST")[0][0], 1)
    t.equal(t.run("HANDLER r READ NEXT")[0][0], 2)
    t.run("HANDLER r CLOSE")


def test_many_rows_in_both_directions(t):
    t.run("CREATE TABLE m (id INT PRIMARY KEY, k INT, v VARCHAR(100), KEY (k))",
          "INSERT INTO m VALUES (1, 1, REPEAT('x', 60))")
    for step in range(13):
        t.run(f"INSERT INTO m SELECT id + {1 << step}, (id * 7919) % 1009, v FROM m")
    t.rows("SELECT COUNT(*), SUM(id) FROM m", [(8192, str(8192 * 8193 // 2))])
    ids = [row[0] for row in t.run("SELECT id FROM m ORDER BY id DESC")]
    t.equal(ids, list(range(8192, 0, -1)), "backwards")
    pairs = t.run("SELECT k, id FROM m FORCE INDEX (k) ORDER BY k, id")
    t.equal(pairs, sorted(pairs), "secondary order")
    backwards = t.run("SELECT k, id FROM m FORCE INDEX (k) ORDER BY k DESC, id DESC")
    t.equal(backwards, pairs[::-1], "secondary order, backwards")
    t.check_table("m")


def test_union_of_secondary_and_hidden_keys(t):
    t.run("CREATE TABLE h (a INT, b INT, KEY (a), KEY (b))",
          "INSERT INTO h VALUES (1, 1), (1, 2), (2, 1), (2, 2), (3, 3)")
    t.rows("SELECT a, b FROM h WHERE a = 1 OR b = 1 ORDER BY a, b", [(1, 1), (1, 2), (2, 1)])
    t.run("UPDATE h SET a = 9 WHERE b = 2", "DELETE FROM h WHERE a = 2")
    t.rows("SELECT a, b FROM h ORDER BY a, b", [(1, 1), (3, 3), (9, 2), (9, 2)])
    t.check_table("h")


def test_union_under_a_primary_key_with_a_prefix(t):
    """Row references are made from the record, which an entry of another index fills in part."""
    t.run("CREATE TABLE p (id INT NOT NULL, s VARCHAR(20) NOT NULL, a INT, b INT, "
          "PRIMARY KEY (id, s(2)), KEY a (a), KEY b (b))",
          "INSERT INTO p VALUES " + ", ".join(f"({n}, '{chr(97 + n % 26)}yz', {n}, {n})"
                                              for n in range(60)))
    query = "SELECT /*+ INDEX_MERGE(p a, b) */ id FROM p WHERE a < 3 OR b > 57 ORDER BY id"
    plan = t.run("EXPLAIN FORMAT=TREE " + query)[0][0]
    t.true("by row ID" in plan, plan)
    t.rows(query, [(0,), (1,), (2,), (58,), (59,)])


def test_skip_scan_for_null(t):
    t.run("CREATE TABLE n (a INT NULL, b INT NOT NULL, c INT NOT NULL, KEY k (c, a, b))",
          "INSERT INTO n VALUES (NULL, 8, 1), (NULL, 15, 1), (4, 5, 2), (NULL, 25, 3), (7, 1, 3)",
          "INSERT INTO n VALUES " + ", ".join(["(8, 1, 1), (8, 1, 2), (8, 1, 3)"] * 5),
          "ANALYZE TABLE n")
    query = "SELECT /*+ SKIP_SCAN(n k) */ b FROM n WHERE a IS NULL"
    plan = t.run("EXPLAIN FORMAT=TREE " + query)[0][0]
    t.true("skip scan" in plan, plan)
    t.rows(query, [(8,), (15,), (25,)])


def test_checksum_of_a_table_newer_than_the_snapshot(t):
    t.run("CREATE TABLE c (id INT PRIMARY KEY)", "INSERT INTO c VALUES (1)",
          "START TRANSACTION WITH CONSISTENT SNAPSHOT")
    t.client().execute("ALTER TABLE c FORCE, ALGORITHM = COPY")
    t.equal(t.run("CHECKSUM TABLE c")[0][1], None, "checksum")
    t.error("SELECT * FROM c", 1412)
