# SPDX-License-Identifier: GPL-2.0-only
"""Aggregating queries on one table, evaluated in the engine over batches of stored rows, beside
InnoDB's results for the same data (docs/whole_queries.md)."""
import threading

import pytest

from framework import ENGINE, Failure, MysqlError

pytestmark = [
    pytest.mark.server(options=("--loose-rowan-pushdown-rows-min=0",)),
    pytest.mark.skipif(ENGINE != "ROWAN", reason="compares Rowan with InnoDB by itself")]

_ROWS = 3000
_TEXTS = ("'a'", "'A'", "'b'", "'B '", "'b'", "''", "NULL", "'ä'", "'zz'", "'zZ'")
_COLUMNS = ("id INT PRIMARY KEY, k INT, big BIGINT NOT NULL, u BIGINT UNSIGNED, "
            "price DECIMAL(12,2) NOT NULL, rate DECIMAL(4,4), wide DECIMAL(38,8), d DATE, "
            "at DATETIME(3), s VARCHAR(20), c CHAR(10) NOT NULL, bin VARBINARY(10), f DOUBLE, "
            "e ENUM('x','y','z'), t TEXT, tiny TINYINT NOT NULL, KEY ub (u, big), KEY b (bin)")


def _quoted(text):
    return f"'{text}'"


def _row(random, i):
    def maybe(value):
        return "NULL" if random.random() < 0.15 else str(value)
    text = random.choice(_TEXTS)
    long_text = "REPEAT('x', 9000)" if random.random() < 0.01 else "'t'"
    return (f"({i}, {maybe(random.randint(-5, 5))}, {random.randint(-2**62, 2**62)}, "
            f"{maybe(random.randint(0, 2**64 - 1))}, {random.randint(-10**6, 10**6)}.{i % 100:02}, "
            f"{maybe('0.' + str(random.randint(0, 9999)).zfill(4))}, "
            f"{maybe(random.choice((random.randint(-10**17, 10**17), 10**30 - 1 - i, 7)))}, "
            f"{maybe(_quoted(f'2024-0{random.randint(1, 9)}-11'))}, "
            f"{maybe(_quoted(f'2024-05-11 10:00:{random.randint(10, 59)}.123'))}, "
            f"{text}, {random.choice(('1', _quoted('q'), _quoted('Q')))}, "
            f"{maybe('X' + _quoted(f'0{random.randint(0, 9)}'))}, "
            f"{maybe(random.randint(-100, 100))}, {maybe(random.randint(1, 3))}, {long_text}, "
            f"{random.randint(-128, 127)})")


def fill_both(t, columns, values, partitioning=""):
    """The same rows in `ours` and in `theirs`, InnoDB's."""
    for table, engine in (("ours", "ROWAN"), ("theirs", "InnoDB")):
        t.run(f"CREATE TABLE {table} ({columns}) ENGINE={engine} {partitioning}")
        for first in range(0, len(values), 500):
            t.run(f"INSERT INTO {table} VALUES {', '.join(values[first:first + 500])}")
        t.run(f"ANALYZE TABLE {table}")


def _fill(t, rows=_ROWS):
    fill_both(t, _COLUMNS, [_row(t.random, i) for i in range(1, rows + 1)])


def _outcome(client, statement):
    try:
        result = client.execute(statement)
    except MysqlError as error:
        return ("error", error.code)
    warnings = client.query("SHOW WARNINGS") if result.warnings else []
    return ([tuple(map(str, row)) for row in result.rows], sorted(map(str, warnings)))


def _plan(client, query):
    return client.query(f"EXPLAIN FORMAT=TREE {query}")[0][0]


class Queries:
    """Compares; counts what was pushed."""

    def __init__(self, t, client=None):
        self.t, self.client = t, client or t.client()
        # What stands for a group is compared, too.
        self.client.execute("SET sql_mode = REPLACE(@@sql_mode, 'ONLY_FULL_GROUP_BY,', '')")
        self.pushed = self.all = 0

    def check(self, query, pushed=None, says=None):
        """`{t}` is the table. The same rows in the same order with the switch on and off; the same
        as InnoDB's, in order if the statement says so; the same warnings. pushed: whether it must
        be aggregated; None: either. says: what the plan must contain."""
        ours, theirs = query.replace("{t}", "ours"), query.replace("{t}", "theirs")
        expected = _outcome(self.client, theirs)
        plan = _plan(self.client, ours)
        is_pushed = "aggregated in batches" in plan
        self.all += 1
        self.pushed += "in batches" in plan
        if (pushed is not None and pushed != is_pushed) or (says or "") not in plan:
            raise Failure(f"pushed {is_pushed}: {query}\n{plan}")
        actual = _outcome(self.client, ours)
        self.client.execute("SET rowan_pushdown_blocks = OFF")
        off = _outcome(self.client, ours)
        self.client.execute("SET rowan_pushdown_blocks = ON")
        decided = "LIMIT" not in query or "ORDER BY" in query
        for name, other, compared in (
                ("switched off", off, (actual, off)), ("InnoDB", expected, (
                    (actual, expected) if "ORDER BY" in query
                    else (_sorted(actual), _sorted(expected))))):
            if compared[0] != compared[1] and (decided or name != "InnoDB"):
                raise Failure(f"{query}\nours {str(actual)[:600]}\n{name} {str(other)[:600]}\n"
                              f"{plan}")


def _sorted(outcome):
    return (sorted(outcome[0]), outcome[1]) if isinstance(outcome[0], list) else outcome


_AGGREGATES = ("COUNT(*)", "COUNT(k)", "SUM(k)", "SUM(big)", "SUM(u)", "SUM(price)", "SUM(rate)",
               "SUM(wide)", "AVG(k)", "AVG(price)", "AVG(wide)", "MIN(k)", "MAX(big)", "MIN(u)",
               "MAX(price)", "MIN(wide)", "MAX(d)", "MIN(at)", "MAX(f)", "MIN(f)", "SUM(tiny)",
               "BIT_AND(k)", "BIT_OR(u)", "BIT_XOR(big)", "BIT_OR(tiny + 1)", "BIT_AND(tiny)",
               "AVG(tiny)", "SUM(price * (1 - rate))", "SUM(k + tiny)", "COUNT(s)", "MAX(id)")
_CONDITIONS = ("TRUE", "k < 2", "k IS NULL", "price > 100", "price BETWEEN -500 AND 500.5",
               "k IN (1, 2, -3)", "big > 0 AND k <> 1", "k = 1 OR price < 0",
               "u > 9223372036854775807", "d >= '2024-04-01' AND d < '2024-06-01'", "s = 'a'",
               "s LIKE '%z%'", "c = 'q'",
               "rate BETWEEN 0.2 AND 0.7 AND k < 3", "id < 100", "id BETWEEN 500 AND 1500",
               "id IN (1, 5, 900)", "k > 100", "NOT (k > 0)", "tiny > k", "f < 10", "e = 'x'")
_GROUPS = ("k", "s", "c", "d", "e", "k, c", "tiny % 3", "YEAR(d)", "bin", "price", "at", "u",
           "wide")


def test_aggregates_of_the_whole_table(t):
    _fill(t)
    queries = Queries(t)
    queries.check("SELECT COUNT(*), SUM(k) FROM {t} WHERE k < 2", True)
    queries.check("SELECT COUNT(k), SUM(k), AVG(k), MIN(k), MAX(k) FROM {t}", True)
    queries.check("SELECT SUM(price), AVG(price), SUM(rate), AVG(wide) FROM {t}", True)
    queries.check("SELECT SUM(k) + COUNT(*) * 2, MAX(d) FROM {t} HAVING SUM(k) IS NOT NULL", True)
    queries.check("SELECT SUM(wide * wide), AVG(wide), SUM(wide * price * rate) FROM {t}", None)
    queries.check("SELECT SUM(k), COUNT(k), MIN(k), AVG(k), COUNT(*) FROM {t} WHERE k > 100", True)
    queries.check("SELECT SUM(k), k, price FROM {t} WHERE FALSE")
    queries.check("SELECT BIT_AND(k), BIT_OR(u) | 1, BIT_XOR(big) FROM {t} WHERE tiny > 3", True)
    queries.check("SELECT BIT_AND(k), BIT_OR(k), BIT_XOR(u) FROM {t} WHERE k > 100", True)
    queries.check("SELECT BIT_AND(price), BIT_OR(f) FROM {t}", False)
    queries.check("SELECT BIT_AND(bin) FROM {t}", False)
    queries.check("SELECT SUM(k), k, price, s FROM {t} WHERE k > 1", True)
    for _ in range(60):
        shown = ", ".join(t.random.sample(_AGGREGATES, t.random.randint(1, 4)))
        queries.check(f"SELECT {shown} FROM {{t}} WHERE {t.random.choice(_CONDITIONS)}")
    print(f"{queries.pushed} of {queries.all} pushed")
    t.true(queries.pushed * 2 > queries.all, f"{queries.pushed} of {queries.all} pushed")


def test_groups(t):
    _fill(t)
    queries = Queries(t)
    queries.check("SELECT k, COUNT(*), SUM(price) FROM {t} GROUP BY k ORDER BY k", True)
    queries.check("SELECT s, COUNT(*), MAX(k) FROM {t} GROUP BY s", True)
    queries.check("SELECT c, AVG(k), AVG(price) FROM {t} WHERE k < 3 GROUP BY c "
                  "HAVING COUNT(*) > 3 ORDER BY 2 DESC LIMIT 1", True)
    queries.check("SELECT YEAR(d), COUNT(*) FROM {t} GROUP BY YEAR(d)", True)
    queries.check("SELECT s, BIT_AND(k), BIT_OR(k), BIT_XOR(u) FROM {t} GROUP BY s", True)
    queries.check("SELECT k FROM {t} GROUP BY k ORDER BY k", None)
    queries.check("SELECT s, id, price, COUNT(*) FROM {t} GROUP BY s ORDER BY s", True)
    for _ in range(60):
        group = t.random.choice(_GROUPS)
        shown = ", ".join(t.random.sample(_AGGREGATES, t.random.randint(1, 3)))
        order = t.random.choice(("", "", f" ORDER BY {group}", f" ORDER BY COUNT(*), {group}"))
        having = t.random.choice(("", "", " HAVING COUNT(*) > 2"))
        queries.check(f"SELECT {group}, {shown} FROM {{t}} WHERE {t.random.choice(_CONDITIONS)} "
                      f"GROUP BY {group}{having}{order}")
    print(f"{queries.pushed} of {queries.all} pushed")


def test_what_is_left_to_the_server(t):
    _fill(t, 300)
    t.run("CREATE FUNCTION unit() RETURNS INT DETERMINISTIC RETURN 1")
    queries = Queries(t)
    for query in ("SELECT COUNT(DISTINCT e, HEX(s)) FROM {t} WHERE price > 0",
                  "SELECT SUM(DISTINCT s) FROM {t}", "SELECT STD(f) FROM {t}",
                  "SELECT k, SUM(price) FROM {t} GROUP BY k WITH ROLLUP",
                  "SELECT GROUP_CONCAT(k ORDER BY id) FROM {t}",
                  "SELECT SUM(k) FROM {t} WHERE price > unit()",
                  "SELECT SUM(k) FROM {t} WHERE k = (SELECT k + 0 FROM {t} WHERE id = 5)",
                  "SELECT SUM(a.k) FROM {t} a JOIN {t} b ON a.id = b.id",
                  "SELECT SUM(price) OVER () FROM {t} WHERE id < 10",
                  "SELECT k, COUNT(*) FROM {t} GROUP BY k, unit() ORDER BY k"):
        queries.check(query, False)
    for isolation in ("SERIALIZABLE", "READ UNCOMMITTED"):
        queries.client.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
        queries.client.execute("BEGIN")
        queries.check("SELECT SUM(k), MAX(price) FROM {t} WHERE k < 3", False)
        queries.client.execute("COMMIT")


def test_deep_expressions_are_left_to_the_server(t):
    """They would take more of a session's stack, or of its time, than there is."""
    _fill(t, 300)
    queries = Queries(t)
    for levels, pushed in ((20, True), (60, False), (700, False)):
        deep = "k" + " + 1" * levels
        queries.check(f"SELECT COUNT(*) FROM {{t}} WHERE {deep} > 5", pushed)
        negated = "-(" * levels + "tiny" + ")" * levels
        queries.check(f"SELECT SUM({deep}), MAX({negated}) FROM {{t}}", pushed)
        queries.check(f"SELECT COUNT(*) FROM {{t}} WHERE k > 1{' XOR tiny > 3' * levels}", False)
    # Each takes some levels more than the one before, which is known.
    sums = ", ".join(f"SUM(k{' + 1' * (12 * i)})" for i in range(1, 30))
    queries.check(f"SELECT {sums} FROM {{t}}", False)
    queries.check("SELECT COUNT(*) FROM {t} WHERE k > 1 XOR tiny > 3", True)


def test_small_scans_are_left_to_the_server(t):
    _fill(t, 100)
    queries = Queries(t)
    for rows, pushed in ((0, True), (100, True), (150, False)):
        queries.client.execute(f"SET rowan_pushdown_rows_min = {rows}")
        queries.check("SELECT SUM(k) FROM {t} WHERE price > 0", pushed)
    queries.check("SELECT id FROM {t} WHERE price > 0", says="Filter: ")


def test_lists_of_keys_are_left_to_the_server(t):
    _fill(t, 3000)
    queries = Queries(t)
    keys = ", ".join(str(id) for id in range(1, 3000, 5))
    ranges = " OR ".join(f"id BETWEEN {id} AND {id + 5}" for id in range(1, 2000, 10))
    for rows, pushed in ((0, True), (50, False)):
        queries.client.execute(f"SET rowan_pushdown_rows_min = {rows}")
        by_key = "SELECT SUM(k), MAX(s) FROM {t} FORCE INDEX (PRIMARY) WHERE "
        queries.check(by_key + f"id IN ({keys})", pushed)
        queries.check(by_key + ranges, True)


def test_a_row_of_which_there_is_none(t):
    """The server takes some values of an empty subquery from the record."""
    _fill(t, 3)
    queries = Queries(t)
    for values in ("'a', big", "price, big", "big, 'a'"):
        for condition in ("k > 1000", "k > 1000 OR k < -1000"):
            queries.check(f"SELECT ('a', NULL) <=> (SELECT {values} FROM {{t}} WHERE {condition})",
                          False)
            queries.check(f"SELECT id FROM {{t}} WHERE ('a', NULL) <=> (SELECT {values} FROM {{t}} "
                          f"WHERE {condition}) ORDER BY id")


def test_an_empty_table_and_no_row(t):
    _fill(t, 0)
    queries = Queries(t)
    for query in ("SELECT COUNT(*), SUM(k), MAX(k), AVG(price) FROM {t} WHERE price > 1",
                  "SELECT MIN(s), MAX(d) FROM {t} WHERE price > 1",
                  "SELECT k, SUM(k) FROM {t} GROUP BY k"):
        queries.check(query, True)


def check_among_changes(t, queries, writer, some, changes):
    """All of some queries are aggregated, by a snapshot from before the writer's changes and by
    the writer; `queries` are the reader's, and `{t}` in a change is the table."""
    def check(who):
        for query in some:
            who.check(query, True)

    queries.client.execute("BEGIN")
    check(queries)
    writer.execute("BEGIN")
    for table in ("ours", "theirs"):
        for change in changes:
            writer.execute(change.replace("{t}", table))
    check(queries)
    check(Queries(t, writer))
    for client in (writer, queries.client):
        client.execute("COMMIT")
        check(queries)


def test_own_changes_and_old_snapshots(t):
    _fill(t)
    reader, writer = t.client(), t.client()
    queries = Queries(t, reader)
    some = ("SELECT COUNT(*), SUM(k), MAX(price) FROM {t} WHERE k < 3",
            "SELECT k, COUNT(*), MIN(big), SUM(price) FROM {t} GROUP BY k",
            "SELECT SUM(price) FROM {t} WHERE id BETWEEN 100 AND 2000")
    for isolation in ("REPEATABLE READ", "READ COMMITTED"):
        for client in (reader, writer):
            client.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
        check_among_changes(t, queries, writer, some, (
            "UPDATE {t} SET k = k + 1, price = price * 2 WHERE id % 3 = 0",
            "DELETE FROM {t} WHERE id % 7 = 0",
            "INSERT INTO {t} (id, big, price, c, tiny, k) SELECT id + 100000, big, price, c, tiny, "
            "2 FROM {t} WHERE id < 50"))
        for table in ("ours", "theirs"):
            writer.execute(f"DELETE FROM {table} WHERE id >= 100000")


def test_prepared_statements_with_other_parameters(t):
    _fill(t)
    client = t.client()
    for table in ("ours", "theirs"):
        client.execute(f"PREPARE {table}_a FROM 'SELECT COUNT(*), SUM(k), AVG(price), MAX(d) FROM "
                       f"{table} WHERE k < ? AND id > ?'")
        client.execute(f"PREPARE {table}_g FROM 'SELECT k, COUNT(*), SUM(price), MIN(big) FROM "
                       f"{table} WHERE price < ? GROUP BY k ORDER BY k'")
    for low, high in ((1, 5), (3, 2000), (-100, 0), (5, 2999), (0, 0), (2, 100)):
        client.execute(f"SET @low = {low}, @high = {high}")
        t.equal(client.query("EXECUTE ours_a USING @low, @high"),
                client.query("EXECUTE theirs_a USING @low, @high"))
        t.equal(client.query("EXECUTE ours_g USING @high"),
                client.query("EXECUTE theirs_g USING @high"))


def test_inside_other_statements(t):
    _fill(t)
    for table in ("ours", "theirs"):
        t.run(f"CREATE VIEW v_{table} AS SELECT k, COUNT(*) n, SUM(price) p FROM {table} WHERE "
              "tiny > 0 GROUP BY k",
              f"CREATE PROCEDURE p_{table}(IN limit_k INT) SELECT SUM(price), COUNT(*), limit_k "
              f"FROM {table} WHERE k < limit_k",
              f"CREATE FUNCTION f_{table}(x INT) RETURNS DECIMAL(30,2) READS SQL DATA RETURN "
              f"(SELECT SUM(price) FROM {table} WHERE k = x)")
    queries = Queries(t)
    for query in ("SELECT * FROM v_{t} ORDER BY k", "SELECT MAX(n), SUM(p) FROM v_{t}",
                  "SELECT * FROM (SELECT k, SUM(price) p FROM {t} WHERE price > 0 GROUP BY k) d "
                  "ORDER BY p, k",
                  "WITH c AS (SELECT k, COUNT(*) n FROM {t} WHERE tiny < 100 GROUP BY k) SELECT "
                  "a.k, b.n FROM c a JOIN c b ON a.k = b.k + 1 ORDER BY a.k",
                  "SELECT k, (SELECT COUNT(*) FROM {t} i WHERE i.price > 0 AND i.k = o.k) n FROM "
                  "{t} o WHERE o.id < 20 ORDER BY o.id",
                  "SELECT id FROM {t} WHERE price = (SELECT MAX(price) FROM {t} WHERE k < 3)",
                  "SELECT SUM(k) FROM {t} WHERE price > 0 UNION ALL SELECT SUM(k) FROM {t} WHERE "
                  "price < 0", "SELECT f_{t}(1), f_{t}(2), f_{t}(99)",
                  "SELECT id, f_{t}(k) FROM {t} WHERE id < 10 ORDER BY id"):
        queries.check(query)
    for limit in (1, 3, -10, 2):
        t.equal(t.run(f"CALL p_ours({limit})"), t.run(f"CALL p_theirs({limit})"))


def test_more_groups_than_memory_for_them(t):
    t.run("CREATE TABLE n (i INT PRIMARY KEY)",
          "INSERT INTO n WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < "
          "999) SELECT i FROM s")
    for table, engine in (("ours", "ROWAN"), ("theirs", "InnoDB")):
        t.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, g VARCHAR(40), v INT) ENGINE={engine}",
              f"INSERT INTO {table} SELECT a.i * 1000 + b.i, CONCAT(REPEAT('g', 25), "
              f"(a.i * 1000 + b.i) * 7919 % 90001), b.i FROM n a JOIN n b WHERE a.i < 200")
    queries = Queries(t)
    queries.check("SELECT COUNT(*), SUM(n), SUM(m), SUM(x), SUM(a) FROM (SELECT g, COUNT(*) n, "
                  "SUM(v) m, MAX(v) x, AVG(v) a FROM {t} GROUP BY g) d")
    queries.check("SELECT g, COUNT(*), SUM(v), MAX(v), AVG(v) FROM {t} WHERE v >= 0 GROUP BY g "
                  "ORDER BY g LIMIT 100", True)


def test_filters(t):
    _fill(t)
    queries = Queries(t)
    for query in ("SELECT * FROM {t} WHERE k < -3", "SELECT id, s FROM {t} WHERE price > 0 LIMIT 3",
                  "SELECT id, t FROM {t} WHERE tiny > 100 ORDER BY price, id LIMIT 5",
                  "SELECT DISTINCT s FROM {t} WHERE k = 1 ORDER BY HEX(s)",
                  "SELECT COUNT(DISTINCT HEX(s)) FROM {t} WHERE k = 1",
                  "SELECT id FROM {t} FORCE INDEX (ub) WHERE u > 5 AND big > 0 ORDER BY id",
                  "SELECT k, GROUP_CONCAT(id ORDER BY id) FROM {t} WHERE price < 0 GROUP BY k",
                  "SELECT id, SUM(price) OVER (ORDER BY id) FROM {t} WHERE k = 2"):
        queries.check(query, False)
    for _ in range(60):
        queries.check(f"SELECT id, k, s, t, price FROM {{t}} WHERE {t.random.choice(_CONDITIONS)}"
                      + t.random.choice(("", " ORDER BY price, id", " LIMIT 7", " ORDER BY id")))
    print(f"{queries.pushed} of {queries.all} pushed")
    t.true(queries.pushed * 2 > queries.all, f"{queries.pushed} of {queries.all} pushed")


def _add_keys(t):
    for table in ("ours", "theirs"):
        t.run(f"ALTER TABLE {table} ADD KEY kp (k, price), ADD KEY sk (s, k, tiny), "
              "ADD KEY dp (d DESC, price), ADD KEY sp (s(1))", f"ANALYZE TABLE {table}")


def kill_repeated(t, query, table):
    """KILL QUERY ends a session that runs the query on the table again and again."""
    client, outcome = t.client(), []
    connection = client.query("SELECT CONNECTION_ID()")[0][0]

    def repeat():
        try:
            while True:
                client.query(query)
        except MysqlError as error:
            outcome.append(error.code)

    thread = threading.Thread(target=repeat)
    thread.start()
    t.wait_for(lambda: any(table in str(row) for row in t.run("SHOW PROCESSLIST")
                           if str(row[0]) == str(connection)), "the query runs")
    t.run(f"KILL QUERY {connection}")
    t.wait_for(lambda: not thread.is_alive() or t.run(f"KILL QUERY {connection}") is None,
               "it has ended")
    thread.join()
    t.equal(outcome, [1317])


def test_kill_ends_a_query(t):
    _fill(t, 300)
    t.run("CREATE TABLE n (i INT PRIMARY KEY)",
          "INSERT INTO n WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < "
          "999) SELECT i FROM s", "CREATE TABLE long_one (id INT PRIMARY KEY, k INT)",
          "INSERT INTO long_one SELECT a.i * 1000 + b.i, b.i FROM n a JOIN n b WHERE a.i < 300")
    kill_repeated(t, "SELECT k % 7, SUM(k) FROM long_one WHERE k < 900 GROUP BY k", "long_one")


def test_counters_say_what_was_pushed_and_why_not(t):
    _fill(t, 300)

    def read():
        return {name: int(value) for name, value in t.run("SHOW GLOBAL STATUS LIKE 'Rowan_block%'")}

    def grown(query):
        before = read()
        t.run(query)
        after = read()
        return {name.removeprefix("Rowan_") for name in after if after[name] > before[name]}

    t.equal(grown("SELECT SUM(price) FROM ours WHERE k < 3"),
            {"blocks_pushed", "block_rows_examined", "block_groups"})
    # EXPLAIN does not lock.
    for lock in ("UPDATE", "SHARE"):
        t.equal(grown(f"SELECT SUM(k) FROM ours FOR {lock}"), set())
    t.equal(grown("SELECT STD(f) FROM ours"), {"blocks_left_by_aggregate"})
    t.equal(grown("SELECT SUM(k) FROM ours WHERE RAND() < 2"), {"blocks_left_by_condition"})
    t.equal(grown("SELECT SUM(price) FROM ours FORCE INDEX (b) WHERE bin = X'05'"),
            {"blocks_left_by_access"})


def test_values_computed_of_nulls_in_some_batches(t):
    queries = Queries(t)
    for table, engine in (("ours", "ROWAN"), ("theirs", "InnoDB")):
        t.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, g INT NOT NULL, a INT, b INT NOT NULL, "
              f"d DATE) ENGINE={engine}")
        t.run("SET cte_max_recursion_depth = 10000")
        t.run(f"INSERT INTO {table} WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM "
              "n WHERE i < 4000) SELECT i, i % 3, IF(i <= 200, NULL, 4001 - i), 1, "
              "IF(i <= 300, NULL, '2024-01-01' + INTERVAL i DAY) FROM n")
    for aggregate in ("SUM(a * b)", "MIN(a * b)", "MAX(a + b)", "MAX(-a)", "SUM(YEAR(d))",
                      "AVG(a - b)", "COUNT(a * b)", "SUM(a)", "MIN(a)"):
        queries.check(f"SELECT {aggregate} FROM {{t}}", pushed=True)
        queries.check(f"SELECT g, {aggregate} FROM {{t}} GROUP BY g", pushed=True)


def test_the_widest_decimals_and_literals_of_one_value(t):
    queries = Queries(t)
    for table, engine in (("ours", "ROWAN"), ("theirs", "InnoDB")):
        t.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, d DECIMAL(38,0), w DECIMAL(38,10), "
              f"x DECIMAL(10,4)) ENGINE={engine}")
        t.run(f"INSERT INTO {table} VALUES (1, 9{'0' * 37}, 9{'0' * 27}, 0.1), "
              f"(2, -9{'0' * 37}, -9{'0' * 27}, 0.2), (3, 86{'0' * 36}, 86{'0' * 26}, 0.3), "
              f"(4, 99{'0' * 36}, 99{'0' * 26}, 0.1), (5, NULL, NULL, 0.1), (6, 1, 1, 0.1), "
              "(7, 2, 2, 0.1)")
    for column, zeros in (("d", 36), ("w", 26)):
        for digits in ("90", "-90", "99", "86", "85", "88", "-86", "91"):
            constant = digits + "0" * zeros
            for condition in (f"{column} = {constant}", f"{column} < {constant}",
                              f"{column} > {constant}", f"NOT {column} <= {constant}",
                              f"{column} BETWEEN {constant} AND 95{'0' * zeros}"):
                queries.check(f"SELECT COUNT(*), SUM(id) FROM {{t}} WHERE {condition}")
    queries.check("SELECT AVG(x * 1.5), AVG(x * 1.50), SUM(x * 1.5), SUM(x * 1.500) FROM {t}")


def test_what_ends_early_reads_no_more(t):
    """Groups in the order of an index under LIMIT, or in a subquery, are left to the server."""
    _fill(t, 300)
    client = t.client()
    for query in ("SELECT u, SUM(big) FROM ours GROUP BY u LIMIT 1",
                  "SELECT k FROM ours o WHERE EXISTS (SELECT u, SUM(big) FROM ours GROUP BY u)"):
        t.true("aggregated in batches" not in _plan(client, query), query)


def test_lists_that_the_server_compares_by_bits(t):
    queries = Queries(t)
    for table, engine in (("ours", "ROWAN"), ("theirs", "InnoDB")):
        t.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, u BIGINT UNSIGNED, k BIGINT) "
              f"ENGINE={engine}",
              f"INSERT INTO {table} VALUES (1, 18446744073709551615, -1), (2, 5, 5), (3, NULL, 7)")
    queries.client.execute("SET @less = -1")
    for column in ("u", "u * 1", "k", "k + 0"):
        for values in ("-1, 7.25, 0", "-1, 5", "18446744073709551615, 5.5", "-1, 5, @less"):
            for word in ("IN", "NOT IN"):
                queries.check("SELECT COUNT(*), SUM(id) FROM {t} WHERE "
                              f"{column} {word} ({values})")
