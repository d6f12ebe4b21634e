# SPDX-License-Identifier: GPL-2.0-only
"""Joins of a large table with small ones, whose scans are evaluated in batches: the same rows and
warnings with the switch off, and as InnoDB's for the same data (docs/whole_queries.md)."""
import pytest

from framework import ENGINE, Failure, MysqlError

pytestmark = [
    pytest.mark.server(options=("--loose-rowan-pushdown-blocks=ON",)),
    pytest.mark.skipif(ENGINE != "ROWAN", reason="compares Rowan with InnoDB by itself")]

_FILTERED, _REDUCED = "filtered in batches", "semi-join filter on "
_TABLES = {
    "fact": "id INT PRIMARY KEY, d INT, c INT NOT NULL, day DATE, price DECIMAL(8,2) NOT NULL, "
            "n DECIMAL(6,1), s VARCHAR(8) COLLATE utf8mb4_0900_bin, ci VARCHAR(8), big BIGINT, "
            "f DOUBLE, v INT NOT NULL, t TEXT",
    "dates": "k INT PRIMARY KEY, year INT NOT NULL, name VARCHAR(10), half INT",
    "customers": "k INT PRIMARY KEY, region VARCHAR(10) NOT NULL, size INT",
    "other": "k INT NOT NULL, day DATE, n DECIMAL(6,1), s VARCHAR(8) COLLATE utf8mb4_0900_bin, "
             "ci VARCHAR(8), f DOUBLE, x INT, KEY (k)"}


def _rows(random, facts):
    def maybe(value, share=0.1):
        return "NULL" if random.random() < share else str(value)

    def text():
        return maybe("'" + random.choice(("a", "A", "b", "B", "ä", "c ", "c", "")) + "'")

    def day():
        return maybe(f"'2024-0{random.randint(1, 9)}-{random.randint(10, 28)}'")
    yield "fact", [
        f"{i}, {maybe(random.randint(0, 130))}, {random.randint(-3, 60)}, {day()}, "
        f"{random.randint(0, 9999)}.{i % 100:02}, {maybe(random.randint(0, 40))}, {text()}, "
        f"{text()}, {maybe(random.randint(0, 130))}, {maybe(random.randint(0, 5))}, "
        f"{random.randint(0, 99)}, {maybe(chr(39) + 'x' * (i % 50) + chr(39))}"
        for i in range(facts)]
    yield "dates", [f"{i}, {1990 + i // 12}, {text()}, {maybe(i % 2)}" for i in range(120)]
    yield "customers", [f"{i}, '{random.choice(('EUROPE', 'ASIA', 'AFRICA'))}', "
                        f"{maybe(random.randint(0, 9))}" for i in range(50)]
    yield "other", [f"{random.randint(0, 130)}, {day()}, {random.randint(0, 40)}, {text()}, "
                    f"{text()}, {random.randint(0, 5)}, {maybe(random.randint(0, 5))}"
                    for _ in range(60)]


def _outcome(client, statement):
    try:
        result = client.execute(statement)
    except MysqlError as error:
        return ("error", error.code)
    warnings = client.query("SHOW WARNINGS") if result.warnings else []
    rows = [tuple(map(str, row)) for row in result.rows]
    return (rows if "ORDER BY" in statement else sorted(rows), sorted(map(str, warnings)))


class Stars:
    """Two databases with the same rows, and a session in each."""

    def __init__(self, t, facts=4000, fills=True):
        self.t = t
        t.run("SELECT 1")
        self.ours = t.client()
        self.theirs = t.client(database=f"{t.database}_theirs")
        self.theirs.execute("SET default_storage_engine = InnoDB")
        if not fills:
            return
        for table, columns in _TABLES.items():
            self.both(f"CREATE TABLE {table} ({columns})")
        for table, rows in _rows(t.random, facts):
            for first in range(0, len(rows), 500):
                self.both(f"INSERT INTO {table} VALUES "
                          + ", ".join(f"({row})" for row in rows[first:first + 500]))
        for table in _TABLES:
            self.both(f"ANALYZE TABLE {table}")

    def both(self, statement):
        for client in (self.ours, self.theirs):
            client.query(statement)

    def plan(self, query):
        return self.ours.query(f"EXPLAIN FORMAT=TREE {query}")[0][0]

    def check(self, query, says=(), never=()):
        """says: what the plan must contain; never: what it must not."""
        plan = self.plan(query)
        for text in (says,) if isinstance(says, str) else says:
            self.t.true(text in plan, f"{text} is not said: {query}\n{plan}")
        for text in (never,) if isinstance(never, str) else never:
            self.t.true(text not in plan, f"{text} is said: {query}\n{plan}")
        actual = _outcome(self.ours, query)
        self.ours.execute("SET rowan_pushdown_blocks = OFF")
        off = _outcome(self.ours, query)
        self.ours.execute("SET rowan_pushdown_blocks = ON")
        for name, other in (("switched off", off), ("InnoDB", _outcome(self.theirs, query))):
            if actual != other:
                raise Failure(f"{query}\nours {str(actual)[:600]}\n{name} {str(other)[:600]}\n"
                              f"{plan}")
        return actual


# --- conditions of tables that are joined ---

def test_conditions_of_joined_tables(t):
    stars = Stars(t)
    for query in (
            # The scan is probed, is the build side, and is the outer side of look-ups.
            "SELECT /*+ JOIN_ORDER(o, f) */ COUNT(*), SUM(f.price) FROM fact f JOIN other o ON "
            "f.v = o.x WHERE f.price > 5000",
            "SELECT /*+ JOIN_ORDER(f, o) */ COUNT(*), SUM(f.price) FROM fact f JOIN other o ON "
            "f.v = o.x WHERE f.price > 5000",
            "SELECT STRAIGHT_JOIN f.id, x.k FROM fact f JOIN dates x ON x.k = f.d WHERE f.v < 7 "
            "ORDER BY f.id",
            "SELECT f.id, x.k FROM fact f LEFT JOIN dates x ON x.k = f.d AND x.year = 1992 WHERE "
            "f.v < 7 AND f.s = 'a' ORDER BY f.id, x.k",
            "SELECT COUNT(f.id), COUNT(*) FROM other o LEFT JOIN fact f ON f.v = o.x AND f.c < 9",
            "SELECT COUNT(*) FROM other o WHERE EXISTS (SELECT * FROM fact f WHERE f.v = o.x AND "
            "f.c BETWEEN 3 AND 4)",
            "SELECT COUNT(*) FROM other o WHERE o.k NOT IN (SELECT f.c FROM fact f WHERE f.v > 90)",
            "SELECT COUNT(*), SUM(a.price) FROM fact a JOIN fact b ON a.id = b.id WHERE a.v < 5 "
            "AND b.c > 5"):
        stars.check(query, _FILTERED)
    # No equality: the inner scan begins anew for each row, or for each full buffer of rows.
    for switch in ("on", "off"):
        stars.both(f"SET optimizer_switch = 'block_nested_loop={switch}'")
        stars.check("SELECT STRAIGHT_JOIN COUNT(*), SUM(f.price + o.k) FROM other o JOIN fact f ON "
                    "f.v > o.x * 30 WHERE f.c IN (1, 2, 3)")
        stars.check("SELECT STRAIGHT_JOIN COUNT(*), SUM(f.price) FROM other o JOIN fact f WHERE "
                    "f.c = 7 AND o.x = 1", _FILTERED)
    stars.both("SET optimizer_switch = DEFAULT")


def test_rows_that_joins_find_again(t):
    """Sorts, weedout and hash joins that do not fit in memory ask for a row's reference."""
    stars = Stars(t)
    stars.both("CREATE TABLE loose (a INT, b INT, t TEXT)")
    stars.both("INSERT INTO loose SELECT d, v, REPEAT('y', 20 + v) FROM fact")
    stars.both("ANALYZE TABLE loose")
    stars.both("SET join_buffer_size = 1024, sort_buffer_size = 32768")
    for query in (
            "SELECT l.a, l.t, x.k FROM loose l JOIN dates x ON x.k = l.a WHERE l.b < 30 ORDER BY "
            "l.b, l.a, x.k, l.t",
            "SELECT f.id, f.t, o.x FROM fact f JOIN other o ON o.x = f.v WHERE f.c > 30 ORDER BY "
            "f.price, f.id, o.x",
            "SELECT COUNT(*), SUM(a) FROM loose l WHERE l.b < 60 AND l.a IN (SELECT /*+ "
            "SEMIJOIN(DUPSWEEDOUT) */ o.k FROM other o JOIN dates x ON x.half = o.x)",
            "SELECT COUNT(*), SUM(l.a) FROM loose l JOIN fact f ON l.b = f.v WHERE l.a > 100 AND "
            "f.c < 20"):
        stars.check(query, _FILTERED)


def test_conditions_that_stay_with_the_server(t):
    stars = Stars(t)
    for query in (
            "SELECT COUNT(*) FROM fact f JOIN other o ON f.v = o.x WHERE f.ci + 0 = 0",
            "SELECT COUNT(*) FROM fact f JOIN other o ON f.v = o.x WHERE f.c < (SELECT MAX(x) FROM "
            "other)", "SELECT COUNT(*) FROM fact f JOIN other o ON f.v = o.x WHERE RAND() < 2",
            "SELECT COUNT(*) FROM dates a JOIN dates b ON a.half = b.half WHERE a.year = 1992"):
        stars.check(query, never=(_FILTERED, _REDUCED))
    plain = "SELECT COUNT(*) FROM fact f JOIN other o ON f.v = o.x WHERE f.c < 9"
    stars.check(plain, _FILTERED)
    # EXPLAIN does not lock.
    pushed = "SHOW GLOBAL STATUS LIKE 'Rowan_blocks_pushed'"
    for tail in (" FOR SHARE", " FOR UPDATE"):
        before = t.run(pushed)
        stars.ours.execute(plain + tail)
        t.equal(t.run(pushed), before, tail)
    for isolation in ("SERIALIZABLE", "READ UNCOMMITTED"):
        stars.both(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
        stars.both("BEGIN")
        stars.check(plain)
        stars.both("COMMIT")
