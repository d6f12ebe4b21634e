# SPDX-License-Identifier: GPL-2.0-only
"""What a read leaves in the record, where a range ends, what is counted: beside InnoDB.

Every statement names its table {t}; it runs on a Rowan table and on an InnoDB table with the same
rows, and result and count of affected rows must agree.
"""
import pytest

from framework import Failure

pytestmark = pytest.mark.server(options=("--performance-schema=ON",))

_TABLES = {"ours": None, "theirs": "InnoDB"}


class Beside:
    """The same tables in both engines; `{t}` is the prefix of their names."""

    def __init__(self, t):
        self.t, self.client = t, t.client()

    def each(self, statement):
        """Outcome on each engine: (affected rows, rows)."""
        outcomes = {}
        for prefix, engine in _TABLES.items():
            text = statement.replace("{t}", prefix).replace("{engine}", engine or self.t.engine)
            result = self.client.execute(text)
            outcomes[prefix] = (result.affected, result.rows)
        return outcomes

    def run(self, *statements):
        """The rows of the last statement, after comparing all outcomes."""
        rows = []
        for statement in statements:
            outcomes = self.each(statement)
            ours, theirs = (str(outcomes[prefix]).replace(prefix, "{t}") for prefix in _TABLES)
            if ours != theirs:
                raise Failure(f"{statement[:300]}: ours {ours[:300]}, theirs {theirs[:300]}")
            rows = outcomes["ours"][1]
        return rows


# --- ranges over parts of columns ---

def test_condition_on_an_index_with_a_prefix_part(t):
    pair = Beside(t)
    pair.run("CREATE TABLE {t} (id INT PRIMARY KEY, a INT, c VARCHAR(20), KEY k (a, c(3))) "
             "ENGINE={engine}",
             "INSERT INTO {t} VALUES (1,1,'za'), (2,2,'ba'), (3,3,'aa'), (4,2,'bab')")
    where = "WHERE (a, c) IN ((1,'za'), (2,'ba'), (3,'aa')) AND id < 100"
    t.equal(pair.run(f"SELECT id FROM {{t}} FORCE INDEX (k) {where} ORDER BY a"),
            [(1,), (2,), (3,)])
    pair.run(f"SELECT id FROM {{t}} FORCE INDEX (k) {where} ORDER BY a DESC, c DESC",
             f"SELECT id FROM {{t}} FORCE INDEX (k) {where} FOR UPDATE",
             f"SELECT o.id, (SELECT COUNT(*) FROM {{t}} i FORCE INDEX (k) WHERE i.a <= o.a AND "
             f"(i.c LIKE 'z%' OR i.c LIKE 'b%') AND i.id < 100) FROM {{t}} o ORDER BY 1",
             f"CREATE TABLE {{t}}copy ENGINE={{engine}} SELECT id FROM {{t}} FORCE INDEX (k) "
             f"{where}",
             "SELECT * FROM {t}copy ORDER BY id",
             f"SELECT x.id, y.id FROM {{t}} x JOIN {{t}} y FORCE INDEX (k) ON y.a = x.a AND "
             f"y.c = x.c AND y.id < 100 WHERE x.id > 0 ORDER BY 1, 2")


def test_condition_on_a_descending_prefix(t):
    pair = Beside(t)
    for number, column in enumerate(("VARCHAR(20)", "CHAR(20)", "TEXT", "VARBINARY(20)", "BLOB")):
        name = f"{{t}}{number}"
        pair.run(f"CREATE TABLE {name} (id INT PRIMARY KEY, c {column}, v INT, KEY k (c(3) DESC), "
                 f"KEY l (v, c(2))) ENGINE={{engine}}",
                 f"INSERT INTO {name} VALUES (1,'m',1), (2,'mmmm',2), (3,NULL,3), (4,'a',4), "
                 f"(5,'zzz',5)")
        for where in ("c = 'm'", "c > 'b'", "c BETWEEN 'a' AND 'mmm'", "c IN ('zzz', 'a')",
                      "c IS NULL", "c <= 'mmmm'"):
            for order in ("", "ORDER BY c", "ORDER BY c DESC"):
                sort = order and f"{order}, id"
                pair.run(f"SELECT v FROM {name} FORCE INDEX (k) WHERE {where} AND id > 0 "
                         f"{sort or 'ORDER BY id'}")


def test_backward_range_with_a_condition_stops_at_its_start(t):
    pair = Beside(t)
    pair.run("CREATE TABLE {t} (id INT PRIMARY KEY, a INT, b INT, c INT, KEY k (a, b)) "
             "ENGINE={engine}")
    pair.run("INSERT INTO {t} VALUES " + ", ".join(
        f"({i}, {i % 50}, {i % 7}, {i})" for i in range(1, 1001)), "ANALYZE TABLE {t}")
    read = "Handler_read_prev"
    for low in (">", ">="):
        query = (f"SELECT id, c FROM {{t}} FORCE INDEX (k) WHERE a {low} 20 AND a < 22 AND "
                 "b % 7 = 9 ORDER BY a DESC")
        pair.run(query)
    steps = {}
    for prefix in _TABLES:
        pair.client.execute("FLUSH STATUS")
        pair.client.execute(query.replace("{t}", prefix))
        steps[prefix] = pair.client.query(f"SHOW SESSION STATUS LIKE '{read}'")
    t.equal(steps["ours"], steps["theirs"], read)


def test_reads_are_counted_alike(t):
    pair = Beside(t)
    pair.client.execute("SET rowan_pushdown_blocks = OFF")  # it delivers fewer rows
    pair.run("CREATE TABLE {t} (id INT PRIMARY KEY, a INT, b INT, c TEXT, KEY k (a)) "
             "ENGINE={engine}")
    pair.run("INSERT INTO {t} VALUES " + ", ".join(
        f"({i}, {i % 50}, {i % 7}, '{i}')" for i in range(1, 301)), "ANALYZE TABLE {t}")
    for query in ("SELECT * FROM {t}", "SELECT * FROM {t} WHERE b = 3", "SELECT a FROM {t}",
                  "SELECT * FROM {t} WHERE id = 5", "SELECT * FROM {t} ORDER BY id LIMIT 5",
                  "SELECT * FROM {t} ORDER BY id DESC LIMIT 5", "SELECT b FROM {t} WHERE a = 5",
                  "SELECT a FROM {t} FORCE INDEX (k) WHERE a BETWEEN 5 AND 9 ORDER BY a DESC",
                  "SELECT b, c FROM {t} ORDER BY b", "SELECT * FROM {t} WHERE id = 555",
                  "SELECT x.b FROM {t} x JOIN {t} y ON x.a = y.id WHERE x.id < 40",
                  "UPDATE {t} SET b = b + 1 WHERE a = 7", "DELETE FROM {t} WHERE id > 290"):
        counts = {}
        for prefix in _TABLES:
            pair.client.execute("FLUSH STATUS")
            pair.client.execute(query.replace("{t}", prefix))
            counts[prefix] = pair.client.query("SHOW SESSION STATUS LIKE 'Handler_read%'")
        t.equal(counts["ours"], counts["theirs"], query)


# --- NULL in the record ---

def test_null_columns_are_not_changed_by_being_read(t):
    pair = Beside(t)
    pair.client.execute("SET timestamp = 1700000000")  # both engines' columns `ts` at one time
    for number, column in enumerate(("VARCHAR(10)", "CHAR(10)", "TEXT", "BLOB", "INT",
                                     "VARBINARY(10)", "DECIMAL(9,2)", "DATETIME(3)", "BIT(9)",
                                     "JSON", "ENUM('a','b')", "DOUBLE", "CHAR(10) CHARSET ucs2")):
        name = f"{{t}}{number}"
        value = {"INT": "5", "DECIMAL(9,2)": "5.5", "DATETIME(3)": "'2001-01-01 00:00:00.5'",
                 "BIT(9)": "b'100000001'", "JSON": "'[1]'", "ENUM('a','b')": "'b'",
                 "DOUBLE": "1.5"}.get(column, "'abc'")
        pair.run(f"CREATE TABLE {name} (id INT PRIMARY KEY, b {column}, ts TIMESTAMP "
                 f"DEFAULT '2000-01-01' ON UPDATE CURRENT_TIMESTAMP) ENGINE={{engine}}",
                 f"INSERT INTO {name} (id, b) VALUES (1, {value}), (2, NULL), (3, NULL)",
                 f"UPDATE {name} SET b = NULL WHERE id = 1",
                 f"UPDATE {name} SET b = {value} WHERE id = 3",
                 f"UPDATE {name} SET b = IF(id = 3, b, NULL)",
                 f"INSERT INTO {name} (id, b) VALUES (3, {value}), (2, NULL) "
                 f"ON DUPLICATE KEY UPDATE b = VALUES(b)",
                 f"REPLACE INTO {name} VALUES (3, {value}, '2000-01-01'), (2, NULL, '2000-01-01')",
                 f"SELECT id, b, ts = '2000-01-01' FROM {name} WHERE id > 1",
                 f"SELECT * FROM {name} WHERE id = 3",
                 f"CHECKSUM TABLE {name}",
                 f"SELECT * FROM {name} WHERE id = 3",
                 f"CHECKSUM TABLE {name}")


def test_null_columns_with_a_default(t):
    pair = Beside(t)
    pair.run("CREATE TABLE {t} (id INT PRIMARY KEY, a INT DEFAULT 7, c CHAR(5) DEFAULT 'x', "
             "v VARCHAR(300) DEFAULT 'yyy', d DATE DEFAULT '2020-02-02', b BLOB, KEY (a), "
             "KEY (c, v)) ENGINE={engine}",
             "INSERT INTO {t} (id) VALUES (1), (2)",
             "INSERT INTO {t} VALUES (3, NULL, NULL, NULL, NULL, NULL), (4, 1, 'a', 'b', "
             "'2000-01-01', 'c')",
             "CHECKSUM TABLE {t}", "SELECT * FROM {t} WHERE id = 4", "CHECKSUM TABLE {t}",
             "UPDATE {t} SET a = 9, c = 'zz', v = REPEAT('v', 299), d = '2024-01-01'",
             "UPDATE {t} SET a = NULL, c = NULL, v = NULL, d = NULL, b = NULL WHERE id > 1",
             "SELECT * FROM {t} ORDER BY id", "CHECKSUM TABLE {t}",
             "SELECT c, v, a FROM {t} FORCE INDEX (c) ORDER BY c, v, id",
             "CHECKSUM TABLE {t}")


# --- keys that share a column with the primary key ---

_SHARED_KEYS = (
    ("PRIMARY KEY (name(3), id), KEY k (name)", "name is whole in the index"),
    ("PRIMARY KEY (name(3), id), KEY k (name(3))", "the same prefix in both"),
    ("PRIMARY KEY (name(3), id), KEY k (name(2))", "a shorter prefix in the index"),
    ("PRIMARY KEY (name(3), id), KEY k (name(4))", "a longer prefix in the index"),
    ("PRIMARY KEY (name, id), KEY k (name(3))", "name is whole in the primary key"),
    ("PRIMARY KEY (id, name(3) DESC), KEY k (name(3))", "descending in one of them"),
    ("PRIMARY KEY (name(3) DESC, id), KEY k (v, name(3) DESC)", "behind another column"),
    ("PRIMARY KEY (name(3), id), UNIQUE KEY k (name, id)", "a unique index with both"),
)


def test_primary_key_with_a_prefix_of_an_indexed_column(t):
    pair = Beside(t)
    names = ("abc", "abcd", "abce", "ab", "", "zzzz", "zz", "b")
    values = ", ".join(f"('{name}', {number}, {number % 3})" for number, name in enumerate(names))
    conditions = ["name = 'abc' AND id = 0", "name = 'abcd' AND id = 1", "name = 'ab' AND id = 3",
                  "name IN ('abc', 'zz') AND id IN (0, 6, 7)",
                  "name IN ('abc', 'zz', 'abcd')", "name > 'ab' AND id < 5", "name >= 'abc'",
                  "name = 'abcd' AND id > 0", "name = 'zzzz' AND id <= 5", "name < 'b'",
                  "v IN (0, 1) AND name IN ('abc', 'zz') AND id < 7",
                  "name BETWEEN 'abcd' AND 'b' AND id <> 2"]
    for number, (keys, _) in enumerate(_SHARED_KEYS):
        for column in ("VARCHAR(50)", "CHAR(20)", "VARBINARY(50)")[:1 if number > 1 else 3]:
            name = f"{{t}}{number}{column[0]}{len(column)}"
            pair.run(f"CREATE TABLE {name} (name {column} NOT NULL, id INT NOT NULL, v INT, "
                     f"{keys}) ENGINE={{engine}}",
                     f"INSERT INTO {name} VALUES {values}", f"ANALYZE TABLE {name}")
            for where in conditions:
                for order in ("ORDER BY id", "ORDER BY name, id", "ORDER BY name DESC, id DESC"):
                    # InnoDB's own descending scans lose rows here: its rows without any index.
                    query = f"SELECT name, id, v FROM {name} USE INDEX () WHERE {where} {order}"
                    right = pair.run(query)
                    ours = query.replace("USE INDEX ()", "FORCE INDEX (k)").replace("{t}", "ours")
                    t.equal(t.run(ours), right, f"{keys}: {ours}")
            pair.run(f"SELECT COUNT(*) FROM {name} x JOIN {name} y FORCE INDEX (k) "
                     f"ON x.name = y.name AND x.id = y.id",
                     f"SELECT name, MAX(id) FROM {name} FORCE INDEX (k) GROUP BY name "
                     f"ORDER BY name")


def test_rows_per_key_of_shared_columns(t):
    pair = Beside(t)
    pair.run("CREATE TABLE {t} (name VARCHAR(50) NOT NULL, id INT NOT NULL, "
             "PRIMARY KEY (name(3), id), KEY k (name)) ENGINE={engine}",
             "INSERT INTO {t} VALUES " + ", ".join(f"('n{i % 10}', {i})" for i in range(1, 401)),
             "ANALYZE TABLE {t}")
    plan = "EXPLAIN SELECT * FROM {t} FORCE INDEX (k) WHERE name = 'n1' AND id = 11"
    rows = {prefix: outcome[1][0] for prefix, outcome in pair.each(plan).items()}
    t.equal(rows["ours"][3:], rows["theirs"][3:], "plan")


# --- what is counted ---

def test_fetches_are_counted_like_innodb_counts_them(t):
    pair = Beside(t)
    pair.client.execute("SET rowan_pushdown_blocks = OFF")  # it delivers fewer rows
    pair.run("CREATE TABLE {t} (id INT PRIMARY KEY, a INT, b INT, c VARCHAR(20), KEY ab (a, b), "
             "KEY c (c)) ENGINE={engine}",
             "CREATE TABLE {t}outer (x INT PRIMARY KEY) ENGINE={engine}")
    pair.run("INSERT INTO {t} VALUES " + ", ".join(
        f"({i}, {i % 10}, {i % 23}, 'c{i % 31:03}')" for i in range(1, 501)),
        "INSERT INTO {t}outer VALUES (1), (2), (3), (77)", "ANALYZE TABLE {t}")
    statements = (
        "SELECT * FROM {t} WHERE id = 7", "SELECT * FROM {t} WHERE id = 777",
        "SELECT * FROM {t} WHERE id BETWEEN 10 AND 19",
        "SELECT * FROM {t} WHERE id > 495", "SELECT * FROM {t} WHERE id < 5 ORDER BY id DESC",
        "SELECT * FROM {t} WHERE id IN (1, 5, 9, 1000)",
        "SELECT b, id FROM {t} FORCE INDEX (ab) WHERE a = 3",
        "SELECT * FROM {t} FORCE INDEX (ab) WHERE a BETWEEN 2 AND 3",
        "SELECT b FROM {t} FORCE INDEX (ab) WHERE a BETWEEN 2 AND 3",
        "SELECT * FROM {t} FORCE INDEX (ab) WHERE a IN (1, 4) AND b > 20",
        "SELECT * FROM {t} FORCE INDEX (c) WHERE c >= 'c029'",
        "SELECT * FROM {t} FORCE INDEX (c) WHERE c > 'c900'",
        "SELECT COUNT(b) FROM {t}outer STRAIGHT_JOIN {t} FORCE INDEX (ab) ON a = x",
        "SELECT COUNT(c) FROM {t}outer STRAIGHT_JOIN {t} ON id = x",
        "SELECT a, MAX(b) FROM {t} FORCE INDEX (ab) GROUP BY a",
        "SELECT a FROM {t} FORCE INDEX (ab) ORDER BY a LIMIT 5",
        "SELECT MIN(a), MAX(a) FROM {t}", "SELECT SUM(b) FROM {t} IGNORE INDEX (ab)",
        "UPDATE {t} SET b = b + 1 WHERE id BETWEEN 100 AND 110",
        "DELETE FROM {t} WHERE a = 9 AND b = 3")
    for statement in statements:
        counts = {}
        for prefix, engine in _TABLES.items():
            pair.client.execute("TRUNCATE performance_schema.table_io_waits_summary_by_index_usage")
            pair.client.execute(statement.replace("{t}", prefix))
            counts[prefix] = pair.client.query(
                "SELECT REPLACE(object_name, '" + prefix + "', ''), index_name, count_fetch FROM "
                "performance_schema.table_io_waits_summary_by_index_usage "
                "WHERE object_schema = DATABASE() AND count_fetch > 0 ORDER BY 1, 2")
        # InnoDB counts the row behind a range, which Rowan does not read.
        names = [row[:2] for row in counts["theirs"]]
        t.equal([row[:2] for row in counts["ours"]], names, statement)
        for ours, theirs in zip(counts["ours"], counts["theirs"]):
            t.true(0 <= theirs[2] - ours[2] <= 4 * (ours != theirs),
                   f"{statement}: ours {ours}, theirs {theirs}")
    pair.client.execute("TRUNCATE performance_schema.table_io_waits_summary_by_index_usage")
    pair.run("SELECT * FROM {t} FORCE INDEX (c) WHERE c >= 'c029' ORDER BY id")
    unused = ("SELECT index_name FROM sys.schema_unused_indexes WHERE "
              "object_schema = DATABASE() AND object_name = '{t}'")
    t.equal(pair.run(unused), [("ab",)], unused)


# --- HANDLER ---

def _handler(t, pair, index, steps):
    pair.run("HANDLER {t} OPEN")
    for step in steps:
        pair.run(f"HANDLER {{t}} READ {index} {step}")
    pair.run("HANDLER {t} CLOSE")


def test_handler_goes_on_after_a_missing_key_and_after_the_ends(t):
    pair = Beside(t)
    pair.run("CREATE TABLE {t} (id INT PRIMARY KEY, a INT, KEY k (a)) ENGINE={engine}",
             "INSERT INTO {t} VALUES (1, 10), (2, 20), (4, 40), (6, 60), (7, 60)")
    for index, column in (("`PRIMARY`", (3, 0, 9, 4)), ("k", (30, 1, 90, 60))):
        missing, low, high, there = column
        for start in (f"= ({missing})", f"= ({low})", f"= ({high})", f"= ({there})",
                      f"= ({there}) LIMIT 5", f"= ({missing}) LIMIT 5",
                      f">= ({missing})", f"> ({missing})", f"< ({missing})", f"<= ({missing})",
                      f"> ({high})", f"< ({low})", f">= ({there})", f"<= ({there})",
                      f"> ({there})", f"< ({there})", "FIRST", "LAST"):
            for way in (("NEXT", "NEXT"), ("PREV", "PREV"), ("NEXT", "PREV"), ("PREV", "NEXT"),
                        ("NEXT",) * 6, ("PREV",) * 6, ("NEXT",) * 4 + ("PREV",) * 3,
                        ("PREV",) * 4 + ("NEXT",) * 3):
                _handler(t, pair, index, (start, *way))


# --- off-page values ---

def test_large_values_are_not_kept_by_idle_handlers(t):
    if t.engine != "ROWAN":
        t.skip("measures Rowan's memory")
    size = 34 << 20  # more than the C library ever takes from its heap
    t.run("CREATE TABLE b (id INT PRIMARY KEY, doc LONGBLOB)",
          f"INSERT INTO b VALUES (1, REPEAT('x', {size}))")

    def memory():
        with open(f"/proc/{t.server.process.pid}/status", encoding="ascii") as status:
            return int(next(line.split()[1] for line in status if line.startswith("VmRSS"))) << 10
    clients = [t.client() for _ in range(4)]
    before = memory()
    for client in clients:
        t.equal(client.query("SELECT LENGTH(doc), RIGHT(doc, 1) = 'x' FROM b"), [(size, 1)])
    t.true(memory() - before < size, f"{memory() - before} bytes more than before")


def test_read_uncommitted_beside_values_that_come_and_go(t):
    t.run("CREATE TABLE b (id INT PRIMARY KEY, v INT, doc LONGTEXT, KEY (v))",
          "INSERT INTO b VALUES (1, 1, REPEAT('a', 4000000)), (2, 2, REPEAT('b', 1000))")
    reads, done = [], []

    def write():
        writer = t.client()
        try:
            for _ in range(300 if t.long else 60):
                writer.execute("BEGIN")
                writer.execute("UPDATE b SET doc = REPEAT('x', 5000000) WHERE id = 1")
                writer.execute("ROLLBACK")
        finally:
            done.append(True)

    def read():
        reader = t.client()
        reader.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")
        while not done:
            for hint in ("PRIMARY", "v"):
                reads.append(tuple(reader.query(
                    f"SELECT id, LENGTH(doc) FROM b FORCE INDEX ({hint}) WHERE v > 0")))
    t.threads([write, read, read, read])
    for rows in set(reads):
        t.true(rows in (((1, 4000000), (2, 1000)), ((1, 5000000), (2, 1000))),
               f"read {rows}")
    t.equal([line for line in t.server.messages().splitlines() if "damaged" in line], [])
    t.check_table("b")
