# SPDX-License-Identifier: GPL-2.0-only
"""Rows that are counted or passed over without being read (docs/visibility_map.md)."""
import json

from framework import OPTIMIZERS

_ROWS = 20000
_FEW_ROWS = 2000
_FOUND_OFFSETS = (16, 60, 99, 100, 101, 500, 1999, 2000, 5000)
_BOUNDS = (-5, 0, 1, 77, 500, 501, 777, 998, 999, 1000, 2000)


def _fill(t, rows=_ROWS):
    """One row in three of the first thousand values has the value NULL."""
    t.run("CREATE TABLE n (i INT PRIMARY KEY)",
          "INSERT INTO n WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s "
          "WHERE i < 999) SELECT i FROM s",
          "CREATE TABLE t (id INT PRIMARY KEY, k INT, a INT NOT NULL, s VARCHAR(20) NOT NULL, "
          "d DATETIME NOT NULL, pad CHAR(60) NOT NULL DEFAULT 'x', "
          "KEY k (k), KEY ak (a, k), KEY s (s), KEY kd (k DESC, a), KEY d (d))",
          "INSERT INTO t (id, k, a, s, d) SELECT h.i * 1000 + n.i, "
          "IF(n.i % 3 = 0 AND h.i = 0, NULL, (h.i * 1000 + n.i) * 7 % 1000), n.i % 5, "
          "CONCAT('s', n.i), '2020-01-01' + INTERVAL n.i HOUR FROM n JOIN n h WHERE h.i < "
          f"{rows // 1000}")


def _not_visited(t, client):
    return int(client.query("SHOW GLOBAL STATUS LIKE 'Rowan_leaves_not_visited'")[0][1])


def _same(t, client, counted, read):
    """The counted answer equals that of a plan that reads every row."""
    t.equal(client.query(counted), client.query(read))


def _conditions(t):
    low, high = sorted(t.random.sample(_BOUNDS, 2))
    return t.random.choice([
        f"k BETWEEN {low} AND {high}", f"k > {low}", f"k <= {high}", f"k >= {low} AND k < {high}",
        f"k = {high}", f"k IN ({low}, {high}, 5)", "k IS NULL", "k IS NOT NULL", f"k <> {low}",
        f"k < {high}.5", f"k BETWEEN {low} AND {high} AND k NOT BETWEEN 100 AND 200",
        f"k BETWEEN {low} AND {high} AND k % 2 = 0", f"a = 3 AND k > {low}",
        f"a = 3 AND k BETWEEN {low} AND {high}", f"a IN (1, 2) AND k >= {low}",
        f"a > 1 AND k = {high}", f"a = 2 AND (k = {low} OR k = {high})", "s = 's77'",
        "s > 's50'", "s BETWEEN 's1' AND 's500'", "s > 'S50' COLLATE utf8mb4_bin", "s LIKE 's7%'",
        "s > 5", "d > '2020-01-10'", "d BETWEEN TIMESTAMP'2020-01-03 10:00:00' AND "
        "TIMESTAMP'2020-01-20 00:00:00'", f"id > {low}", f"id BETWEEN {low} AND {high} AND k > 10"])


def _check_counts(t, client, rounds):
    for _ in range(rounds):
        where = _conditions(t)
        what = t.random.choice(["COUNT(*)", "COUNT(id)", "COUNT(*), COUNT(a)", "COUNT(k)",
                                "COUNT(*) + 1"])
        hint = t.random.choice(["", "", "FORCE INDEX (k)", "FORCE INDEX (ak)", "FORCE INDEX (kd)"])
        # Every row is read for a condition on a column without an index.
        _same(t, client, f"SELECT {what} FROM t {hint} WHERE {where}",
              f"SELECT {what} FROM t IGNORE INDEX (k, ak, s, kd, d) WHERE ({where}) OR 0 * pad = 1")


def _check_offsets(t, client, rounds):
    for _ in range(rounds):
        where = t.random.choice(["1", _conditions(t)])
        order = t.random.choice(["id", "id DESC", "k, id", "k DESC, id DESC", "a, k, id",
                                 "k DESC, a, id", "s, id", "d, id"])
        hint = t.random.choice(["", "FORCE INDEX (k)", "FORCE INDEX (ak)", "FORCE INDEX (kd)",
                                "FORCE INDEX (PRIMARY)"])
        columns = t.random.choice(["id", "k, id", "*"])
        offset = t.random.choice([16, 17, 100, 1000, 7777, _ROWS - 1, _ROWS, _ROWS + 10])
        limit = t.random.choice([1, 5, 40])
        every = f"SELECT {columns} FROM t {hint} WHERE {where} ORDER BY {order}"
        t.equal(client.query(f"{every} LIMIT {limit} OFFSET {offset}"),
                client.query(every)[offset:offset + limit], every)


def test_counts_are_those_of_the_rows(t):
    _fill(t)
    client = t.client()
    for setting, rounds in zip(OPTIMIZERS, (120, 40)):
        client.execute(f"SET optimizer_switch = 'hypergraph_optimizer={setting}'")
        _check_counts(t, client, rounds)
    client.execute("SET optimizer_switch = 'hypergraph_optimizer=off'")
    if t.engine == "ROWAN":
        t.equal(client.query("SELECT COUNT(*) FROM t FORCE INDEX (k) WHERE k BETWEEN 100 AND 300"),
                client.query("SELECT CAST(SUM(k BETWEEN 100 AND 300) AS SIGNED) FROM t"))
        before = _not_visited(t, client)
        client.query("SELECT COUNT(*) FROM t FORCE INDEX (k) WHERE k BETWEEN 100 AND 300")
        t.true(_not_visited(t, client) > before, "the range was read")


def test_offsets_are_those_of_the_rows(t):
    _fill(t)
    client = t.client()
    for setting, rounds in zip(OPTIMIZERS, (60, 20)):
        client.execute(f"SET optimizer_switch = 'hypergraph_optimizer={setting}'")
        _check_offsets(t, client, rounds)
    client.execute("SET optimizer_switch = 'hypergraph_optimizer=off'")
    if t.engine == "ROWAN":
        before = _not_visited(t, client)
        client.query(f"SELECT * FROM t ORDER BY id LIMIT 1 OFFSET {_ROWS // 2}")
        t.true(_not_visited(t, client) > before, "the offset was read")


def _found_rows(t, client, what, where, order, offset):
    """A statement with LIMIT on both engines: the rows, and FOUND_ROWS() behind them."""
    outcomes = []
    limit = t.random.choice([1, 7, 900])
    for table in ("t", "theirs"):
        rows = client.query(f"SELECT {what} k, id FROM {table} {where} ORDER BY {order} "
                            f"LIMIT {limit} OFFSET {offset}")
        outcomes.append((rows, client.value("SELECT FOUND_ROWS()")))
    t.equal(outcomes[0], outcomes[1], f"{what} {where} {order} {limit}, {offset}")


def test_found_rows_are_those_that_match(t):
    _fill(t, _FEW_ROWS)
    client = t.client()
    client.execute("CREATE TABLE theirs LIKE t")
    client.execute("ALTER TABLE theirs ENGINE = InnoDB")
    client.execute("INSERT INTO theirs SELECT * FROM t")
    # Without ranges, a look-up of `a` keeps conditions on `k`. The first row that it comes to has
    # the condition, others before the offset have not.
    client.execute("SET range_optimizer_max_mem_size = 1")
    _found_rows(t, client, "", "FORCE INDEX (ak) WHERE a = 2 AND k > 300", "k DESC, id DESC", 1900)
    for setting in OPTIMIZERS:
        client.execute(f"SET optimizer_switch = 'hypergraph_optimizer={setting}'")
        for number in range(100):
            client.execute(f"SET range_optimizer_max_mem_size = {number % 2 * 8000000 or 1}")
            what = "SQL_CALC_FOUND_ROWS" if number % 3 == 0 else ""
            hint = t.random.choice(["", "FORCE INDEX (k)", "FORCE INDEX (ak)", "FORCE INDEX (kd)"])
            order = t.random.choice(["id", "id DESC", "k, id", "k DESC, id DESC", "a, k, id"])
            _found_rows(t, client, what, f"{hint} WHERE {t.random.choice(['1', _conditions(t)])}",
                        order, t.random.choice(_FOUND_OFFSETS))


def test_conditions_on_columns_that_are_computed(t):
    """Nobody stores the value that the condition asks for; rows are read for another column."""
    t.run("CREATE TABLE c (id INT PRIMARY KEY, b INT NOT NULL, v INT AS (b + 1) VIRTUAL, KEY (v), "
          "KEY ((b * 2)))",
          "INSERT INTO c (id, b) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
          "WHERE i < 200) SELECT i, i FROM n", "ANALYZE TABLE c")
    client = t.client()
    for setting in OPTIMIZERS:
        client.execute(f"SET optimizer_switch = 'hypergraph_optimizer={setting}'")
        for what, where in (("COUNT(b)", "v > 100"), ("COUNT(*)", "b + 1 > 100"),
                            ("COUNT(*)", "v > 100"), ("COUNT(b)", "b * 2 > 198")):
            t.equal(client.value(f"SELECT {what} FROM c WHERE {where}"), 101, f"{what} {where}")
        for where in ("b + 1 > 100", "b * 2 > 198", "v > 100"):
            t.equal(client.query(f"SELECT id, b FROM c WHERE {where} LIMIT 2 OFFSET 20"),
                    [(120, 120), (121, 121)], where)


def test_rows_found_where_none_is_wanted(t):
    _fill(t, _FEW_ROWS)
    client = t.client()
    for select in ("SELECT id FROM t ORDER BY id LIMIT 0 OFFSET 20",
                   "SELECT id FROM t ORDER BY id LIMIT 1 OFFSET 20"):
        wanted = 20 + int("LIMIT 1" in select)
        t.equal(len(client.query(select)), wanted - 20, select)
        t.equal(client.value("SELECT FOUND_ROWS()"), wanted, select)


def test_plans_tell(t):
    if t.engine != "ROWAN":
        t.skip("about our plans")
    _fill(t)
    client = t.client()

    def plan(statement):
        return client.query(f"EXPLAIN FORMAT=TREE {statement}")[0][0]

    # Whatever the rows would be read by: skip scan, look-up, index scan with a condition.
    counts = ("SELECT COUNT(*) FROM t WHERE k < 900 AND k > 20",
              "SELECT COUNT(*) FROM t WHERE id > -10", "SELECT COUNT(*) FROM t WHERE a >= 0",
              "SELECT COUNT(*) FROM t FORCE INDEX (ak) WHERE a = 3")
    whole = ("SELECT COUNT(*) FROM t", "SELECT COUNT(*), COUNT(id) FROM t")
    for setting in OPTIMIZERS:
        client.execute(f"SET optimizer_switch = 'hypergraph_optimizer={setting}'")
        for statement in (*counts, *(whole if setting == "on" else ())):
            for explain in ("FORMAT=TREE", "ANALYZE"):
                told = client.query(f"EXPLAIN {explain} {statement}")[0][0]
                t.true("Count rows in t" in told, told)
    client.execute("SET optimizer_switch = 'hypergraph_optimizer=off', optimizer_trace = "
                   "'enabled=on'")
    client.query(counts[0])
    json.loads(client.value("SELECT trace FROM information_schema.optimizer_trace"))
    client.execute("SET optimizer_trace = 'enabled=off'")
    skips = "behind 1000 passed over"
    for expected, text, statement in (
            (True, "Count rows in t", "SELECT COUNT(*) FROM t FORCE INDEX (k) "
                                      "WHERE k BETWEEN 5 AND 200"),
            (False, "Count rows in t", "SELECT COUNT(*) FROM t FORCE INDEX (k) "
                                       "WHERE k BETWEEN 5 AND 200 AND pad > 's'"),
            (True, skips, "SELECT * FROM t ORDER BY id LIMIT 5 OFFSET 1000"),
            (True, skips, "SELECT * FROM t FORCE INDEX (k) WHERE k BETWEEN 5 AND 200 "
                          "ORDER BY k LIMIT 5 OFFSET 1000"),
            (True, skips, "SELECT * FROM t WHERE id > 5 ORDER BY id LIMIT 5 OFFSET 1000"),
            (False, skips, "SELECT * FROM t WHERE pad > 'a' ORDER BY id LIMIT 5 OFFSET 1000"),
            (False, skips, "SELECT * FROM t JOIN n ON n.i = t.a ORDER BY t.id "
                           "LIMIT 5 OFFSET 1000")):
        t.equal(text in plan(statement), expected, plan(statement))


def test_prepared_counts_follow_their_parameters(t):
    _fill(t, _FEW_ROWS)
    for setting in OPTIMIZERS:
        client = t.client()
        client.execute(f"SET optimizer_switch = 'hypergraph_optimizer={setting}'")
        _check_prepared(t, client)


def _check_prepared(t, client):
    client.execute("PREPARE c FROM 'SELECT COUNT(*) FROM t WHERE k BETWEEN ? AND ?'",)
    client.execute("PREPARE o FROM 'SELECT id FROM t ORDER BY id LIMIT ? OFFSET ?'")
    for low, high in ((1, 5), (5, 900), (900, 1), (0, 0), (5, 900)):
        client.execute(f"SET @low = {low}, @high = {high}")
        t.equal(client.query("EXECUTE c USING @low, @high"),
                client.query("SELECT CAST(SUM(IFNULL(k BETWEEN "
                             f"{low} AND {high}, 0)) AS SIGNED) FROM t"))
        client.execute("SET @limit = 3")
        t.equal(client.query("EXECUTE o USING @limit, @high"), [(high + i,) for i in range(3)])


def test_a_snapshot_counts_its_own_rows(t):
    _fill(t)
    old, writer, young = t.client(), t.client(), t.client()
    ranges = ("SELECT COUNT(*) FROM t", "SELECT COUNT(*) FROM t WHERE k >= 100",
              "SELECT id FROM t ORDER BY k, id LIMIT 1 OFFSET 9999")
    old.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    then = [old.query(statement) for statement in ranges]
    writer.execute("BEGIN")
    writer.execute("DELETE FROM t WHERE id % 10 = 3")
    writer.execute("UPDATE t SET k = k + 1 WHERE id % 10 = 4")
    now = [writer.query(statement) for statement in ranges]
    t.equal(now[0], [(_ROWS - _ROWS // 10,)])
    t.equal([young.query(statement) for statement in ranges], then)
    writer.execute("COMMIT")
    t.equal([young.query(statement) for statement in ranges], now)
    t.equal([old.query(statement) for statement in ranges], then)
    t.equal(old.query("SELECT id FROM t FORCE INDEX (k) ORDER BY k, id")[9999], then[2][0])
    t.equal(young.query("SELECT id FROM t FORCE INDEX (k) ORDER BY k, id")[9999], now[2][0])
    old.execute("COMMIT")
    t.equal(young.query("CHECK TABLE t")[0][3], "OK")


def test_visible_leaves_are_told(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's tables")
    _fill(t)
    t.run("ANALYZE TABLE t")
    client, writer = t.client(), t.client()

    def leaves():
        client.query("SELECT COUNT(*), SUM(a) FROM t FORCE INDEX (PRIMARY)")
        return client.query(
            "SELECT leaf_pages, mapped_leaves, all_visible_leaves FROM information_schema"
            ".rowan_indexes WHERE index_name = 'PRIMARY' AND table_name = 't' AND "
            f"table_schema = '{t.database}'")[0]

    def all_visible():
        return leaves()[1] == leaves()[0] == leaves()[2]
    t.wait_for(all_visible, "all leaves are mapped and visible")
    writer.execute("BEGIN")
    writer.execute("UPDATE t SET a = 9 WHERE id = 7")
    pages, mapped, visible = leaves()
    t.true((pages, mapped) == (pages, pages) and visible == pages - 1, (pages, mapped, visible))
    writer.execute("ROLLBACK")
    t.wait_for(all_visible, "all leaves are visible again")


def test_what_is_left_to_the_server(t):
    """Locking reads, other selects, found rows, subqueries, derived tables."""
    _fill(t)
    client, other = t.client(), t.client()
    client.execute("BEGIN")
    t.equal(client.query("SELECT COUNT(*) FROM t WHERE k = 5 FOR UPDATE"),
            other.query("SELECT COUNT(*) FROM t WHERE k = 5"))
    other.execute("SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 1")
    if t.engine == "ROWAN":
        other.execute("SET rowan_lock_wait_timeout = 1")
    t.error("UPDATE t SET a = 9 WHERE k = 5", 1205, other)
    client.execute("ROLLBACK")
    client.query("SELECT id FROM t ORDER BY id LIMIT 10 OFFSET 100")
    t.equal(client.value("SELECT FOUND_ROWS()"), 110)
    client.query("SELECT SQL_CALC_FOUND_ROWS id FROM t ORDER BY id LIMIT 10 OFFSET 100")
    t.equal(client.value("SELECT FOUND_ROWS()"), _ROWS)
    for setting in OPTIMIZERS:
        client.execute(f"SET optimizer_switch = 'hypergraph_optimizer={setting}'")
        _check_inner_counts(t, client)


def _check_inner_counts(t, client):
    t.equal(client.query("SELECT (SELECT COUNT(*) FROM t WHERE k > 500) + COUNT(*) FROM n"),
            client.query("SELECT CAST(SUM(IFNULL(k > 500, 0)) AS SIGNED) + 1000 FROM t"))
    t.equal(client.query("SELECT n.i, (SELECT COUNT(*) FROM t WHERE k = n.i) FROM n WHERE i < 9"),
            client.query("SELECT i, (SELECT CAST(SUM(IFNULL(k = i, 0)) AS SIGNED) FROM t) FROM n "
                         "WHERE i < 9"))
    t.equal(client.query("SELECT CAST(SUM(c) AS SIGNED) FROM (SELECT COUNT(*) c FROM t WHERE k < 9 "
                         "UNION ALL SELECT COUNT(*) FROM t WHERE k < 20) u"),
            client.query("SELECT CAST(SUM(IFNULL(k < 9, 0) + IFNULL(k < 20, 0)) AS SIGNED) FROM t"))
    t.equal(client.query("SELECT MAX(id) FROM (SELECT id FROM t ORDER BY id LIMIT 5 OFFSET 1000) "
                         "d"), [(1004,)])
    t.equal(client.query("SELECT COUNT(*) c FROM t WHERE k > 10 HAVING c < 5"), [])
