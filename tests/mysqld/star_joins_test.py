# SPDX-License-Identifier: GPL-2.0-only
"""Joins of a large table with small ones, whose scans are evaluated in batches: the same rows and
warnings with the switch off, and as InnoDB's for the same data (docs/whole_queries.md)."""
import os

import pytest

from framework import ENGINE, OPTIMIZERS, Failure
from whole_queries_test import _outcome as outcome_of
from whole_queries_test import _sorted as sorted_outcome
from whole_queries_test import kill_repeated

pytestmark = [
    pytest.mark.server(options=("--loose-rowan-pushdown-rows-min=0",)),
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
    outcome = outcome_of(client, statement)
    return outcome if "ORDER BY" in statement else sorted_outcome(outcome)


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


# --- rows that find no partner ---

_STAR = ("SELECT /*+ {hint} */ COUNT(*), SUM(f.price), SUM(x.year) FROM fact f {join} dates x ON "
         "x.k = f.d {join} customers c ON c.k = f.c WHERE x.year = 1993 AND c.region = 'ASIA'")


def test_rows_without_a_partner_are_dropped(t):
    stars = Stars(t)
    ordered = _STAR.format(hint="JOIN_FIXED_ORDER()", join="JOIN")
    stars.check(ordered, _REDUCED + "d of x, c of c")
    stars.check(_STAR.format(hint="", join="STRAIGHT_JOIN"), _REDUCED + "d of x, c of c")
    stars.check(ordered + " AND f.v < 40", (_REDUCED, _FILTERED))
    stars.check(ordered.replace("COUNT(*)", "x.name, COUNT(*)") + " GROUP BY x.name", _REDUCED)
    # A hash join, of which the scan is probed, and one with the scan on its other side.
    hashed = ("SELECT /*+ {hint} */ f.id, f.price, x.name FROM fact f JOIN dates x IGNORE INDEX "
              "(PRIMARY) ON x.k = f.d WHERE x.half = 1 AND x.year < 1994 ORDER BY f.id")
    stars.check(hashed.format(hint="JOIN_ORDER(x, f)"), (_REDUCED, "hash join"))
    stars.check(hashed.format(hint="JOIN_ORDER(f, x)"), "hash join", _REDUCED)
    # Both have conditions in batches.
    stars.both("CREATE TABLE days (k INT, v INT)")
    stars.both("INSERT INTO days SELECT d, v FROM fact WHERE id < 400")
    stars.both("ANALYZE TABLE days")
    both = stars.plan("SELECT /*+ JOIN_ORDER(y, f) */ COUNT(*) FROM days y JOIN fact f ON f.d = "
                      "y.k WHERE y.v < 9 AND f.v < 50")
    t.true(both.count(_FILTERED) == 2 and _REDUCED in both, both)
    # Several rows of the dimension for one, and an empty dimension.
    stars.check("SELECT STRAIGHT_JOIN f.id, o.x FROM fact f JOIN other o FORCE INDEX (k) ON o.k = "
                "f.d WHERE o.x > 2 ORDER BY f.id, o.x, o.day", _REDUCED)
    empty = ordered.replace("1993", "2193")
    stars.check(empty, _REDUCED)
    stars.both("DELETE FROM customers")
    stars.check(ordered, _REDUCED)


def test_keys_of_each_type(t):
    stars = Stars(t)
    for column, outer, says in (
            ("day", "f.day", True), ("n", "f.n", True), ("s", "f.s", True), ("k", "f.v", True),
            ("ci", "f.ci", False), ("f", "f.f", False), ("k", "f.big", False),
            ("k", "f.s", False), ("n", "f.price", False), ("s", "f.ci", False),
            ("k", "f.n", False), ("day", "f.s", False)):
        query = (f"SELECT /*+ JOIN_ORDER(o, f) */ COUNT(*), SUM(f.price), SUM(o.x) FROM fact f "
                 f"JOIN other o IGNORE INDEX (k) ON o.{column} = {outer} WHERE o.x IN (1, 4)")
        if says:
            stars.check(query, _REDUCED)
        else:
            stars.check(query, never=_REDUCED)
    # NULL is equal to nothing but by <=>.
    stars.both("UPDATE other SET x = 4 WHERE day IS NULL OR s IS NULL")
    for operator in ("=", "<=>"):
        for column in ("day", "s"):
            stars.check(f"SELECT /*+ JOIN_ORDER(o, f) */ COUNT(*), SUM(f.price) FROM fact f JOIN "
                        f"other o ON o.{column} {operator} f.{column} WHERE o.x = 4")
    stars.both("ALTER TABLE other ADD KEY (s), ADD KEY (day)")
    for operator in ("=", "<=>"):
        for column in ("day", "s"):
            stars.check(f"SELECT STRAIGHT_JOIN COUNT(*), SUM(f.price) FROM fact f JOIN other o "
                        f"FORCE INDEX ({column}) ON o.{column} {operator} f.{column} WHERE o.x = 4",
                        *((_REDUCED,) if operator == "=" else ((), _REDUCED)))


def test_joins_that_drop_no_row(t):
    stars = Stars(t)
    stars.both("CREATE FUNCTION unit() RETURNS INT DETERMINISTIC RETURN 1")
    fact = "FROM fact f {} dates x ON x.k = f.d"
    for query in (
            f"SELECT COUNT(*), COUNT(x.k) {fact.format('LEFT JOIN')} AND x.year = 1993",
            "SELECT COUNT(*) FROM fact f WHERE NOT EXISTS (SELECT * FROM dates x WHERE x.k = f.d "
            "AND x.year = 1993)",
            "SELECT COUNT(*) FROM fact f WHERE f.d NOT IN (SELECT x.k FROM dates x WHERE x.year = "
            "1993)",
            f"SELECT COUNT(*) {fact.format('STRAIGHT_JOIN')} WHERE x.name + 0 = 0",
            f"SELECT COUNT(*) {fact.format('STRAIGHT_JOIN')} WHERE x.year > f.v + 1990",
            f"SELECT COUNT(*), SUM(unit()) {fact.format('STRAIGHT_JOIN')} WHERE x.year = 1993",
            f"SELECT COUNT(*) {fact.format('STRAIGHT_JOIN')}",
            f"SELECT f.id {fact.format('STRAIGHT_JOIN')} WHERE x.year = 1993 LIMIT 100000",
            "SELECT COUNT(*) FROM dates a STRAIGHT_JOIN dates b ON a.half = b.k WHERE b.year = 1990"
            ):
        stars.check(query, never=_REDUCED)
    # A row that the one drops is not offered to the other, which warns of it.
    warns = ("SELECT /*+ JOIN_FIXED_ORDER() */ COUNT(*) FROM fact f JOIN {} ON {} JOIN {} ON {} "
             "WHERE x.year = 1993 AND o.ci + 0 = 0")
    one, other = ("dates x", "x.k = f.d"), ("other o FORCE INDEX (k)", "o.k = f.v")
    stars.check(warns.format(*other, *one), never=_REDUCED)
    stars.check(warns.format(*one, *other), _REDUCED + "d of x")


def test_warnings_of_dimensions_stay(t):
    """Rows of a dimension on which programs do not decide."""
    stars = Stars(t)
    stars.both("CREATE TABLE wide (k INT PRIMARY KEY, u INT UNSIGNED NOT NULL, w INT NOT NULL)")
    stars.both("INSERT INTO wide SELECT k, k, k % 3 FROM dates")
    stars.both("ANALYZE TABLE wide")
    for where in ("w.u - 5 > 10", "w.u + 5 > 100", "w.u * 4000000000 * 4000000000 > 1"):
        for join in ("f.d = w.k JOIN dates x ON x.k = f.v", "f.v = w.k JOIN dates x ON x.k = f.d"):
            stars.check(f"SELECT /*+ JOIN_FIXED_ORDER() */ COUNT(*), SUM(f.price) FROM fact f JOIN "
                        f"wide w ON {join} WHERE {where} AND x.year = 1992", _REDUCED)


def test_snapshots_and_own_changes(t):
    stars = Stars(t)
    query = _STAR.format(hint="JOIN_FIXED_ORDER()", join="JOIN")
    others = Stars(t, fills=False)
    for isolation in ("REPEATABLE READ", "READ COMMITTED"):
        for sessions in (stars, others):
            sessions.both(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
            sessions.both("BEGIN")
        first = stars.check(query, _REDUCED)
        others.both("UPDATE dates SET year = 1993 WHERE k < 12")
        others.both("DELETE FROM customers WHERE k % 5 = 1")
        others.both("INSERT INTO customers VALUES (-2, 'ASIA', 1), (55, 'ASIA', NULL) ON DUPLICATE "
                    "KEY UPDATE size = 3")
        t.true(others.check(query, _REDUCED) != first, "own changes count")
        t.equal(stars.check(query, _REDUCED), first)
        others.both("COMMIT")
        after = stars.check(query, _REDUCED)
        t.equal(after == first, isolation == "REPEATABLE READ", isolation)
        stars.both("COMMIT")
        others.both("UPDATE dates SET year = 1990 WHERE k < 12")


def test_executions_of_one_plan(t):
    stars = Stars(t)
    stars.both("PREPARE q FROM 'SELECT STRAIGHT_JOIN COUNT(*), SUM(f.price) FROM fact f JOIN dates "
               "x ON x.k = f.d WHERE x.year = ? AND f.v < ?'")
    for year, most in ((1993, 90), (1994, 90), (1994, 50), (None, 50), (1991, 99)):
        value = "NULL" if year is None else year
        stars.both(f"SET @year = {value}, @most = {most}")
        t.equal(*(_outcome(client, "EXECUTE q USING @year, @most")
                  for client in (stars.ours, stars.theirs)))
        stars.both("UPDATE dates SET year = year + 1 WHERE k % 9 = 2")
    # A subquery is executed for each row, with a filter that has nothing to do with the row; and
    # one whose dimension has.
    stars.check("SELECT o.k, (SELECT /*+ JOIN_FIXED_ORDER() */ SUM(f.price) FROM fact f JOIN dates "
                "x ON x.k = f.d WHERE x.year = 1993 AND f.v > o.x * 10 LIMIT 1) AS s FROM other o "
                "WHERE o.k < 40 ORDER BY o.k, s")
    stars.check("SELECT o.k, (SELECT /*+ JOIN_FIXED_ORDER() */ SUM(f.price) FROM fact f JOIN dates "
                "x ON x.k = f.d WHERE x.year = 1990 + o.x LIMIT 1) AS s FROM other o WHERE o.k < "
                "40 ORDER BY o.k, s", never=_REDUCED)
    stars.check("SELECT STRAIGHT_JOIN o.k, f.id FROM other o LEFT JOIN (fact f JOIN dates x ON x.k "
                "= f.d AND x.year = 1993) ON f.v = o.k + 40 ORDER BY o.k, f.id")


def test_several_threads_and_plans(t):
    stars = Stars(t, 12000)
    query = _STAR.format(hint="JOIN_FIXED_ORDER()", join="JOIN")
    for workers in (0, 1, 4):
        stars.ours.execute(f"SET rowan_parallel_rows_min = 0, rowan_parallel_workers = {workers}")
        stars.check(query, _REDUCED)
        stars.check(query.replace("SUM(x.year)", "MAX(f.id)") + " AND f.v % 7 < 5")
    stars.both(f"SET optimizer_switch = 'hypergraph_optimizer={OPTIMIZERS[-1]}'")
    for hint in ("", "JOIN_FIXED_ORDER()"):
        stars.check(_STAR.format(hint=hint, join="JOIN"))
        stars.check(_STAR.format(hint=hint, join="JOIN") + " AND f.v < 30")


def test_kill_ends_a_join(t):
    Stars(t, 12000)
    kill_repeated(t, _STAR.format(hint="JOIN_FIXED_ORDER()", join="JOIN"), "fact")


# --- random joins ---

_TABLE_CONDITIONS = {
    "f": ("f.v < 50", "f.price BETWEEN 1000 AND 6000", "f.c IN (1, 5, 7, 30)", "f.s = 'a'",
          "f.day > '2024-04-01'", "f.d IS NOT NULL", "f.ci LIKE 'a%'", "f.n > 20.5", "f.v % 3 = 1",
          "f.t IS NULL OR f.v > 10", "f.ci + 0 = 0"),
    "x": ("x.year = 1993", "x.year BETWEEN 1991 AND 1995", "x.half = 1", "x.name = 'b'",
          "x.half IS NULL", "x.k + 1 > 30", "x.name + 0 = 0", "x.year > 2100"),
    "c": ("c.region = 'ASIA'", "c.region IN ('ASIA', 'AFRICA')", "c.size > 4", "c.size IS NULL",
          "c.size * 2 < 9", "c.region LIKE 'E%'"),
    "o": ("o.x = 3", "o.x IS NULL", "o.n > 11", "o.s = 'c'", "o.day < '2024-06-01'", "o.ci = 'a'",
          "o.k BETWEEN 20 AND 80", "o.f < 3")}
_JOINS = {
    "x": ("dates x", ("x.k = f.d", "x.k = f.v", "x.k = f.big", "x.half = f.c", "x.k = f.d AND "
                      "x.half = f.v", "x.name = f.ci")),
    "c": ("customers c", ("c.k = f.c", "c.k = f.v", "c.k = f.n", "c.size = f.c")),
    "o": ("other o", ("o.k = f.d", "o.k = f.v AND o.s = f.s", "o.s = f.s", "o.day = f.day",
                      "o.n = f.n", "o.ci = f.ci", "o.day <=> f.day", "o.f = f.f", "o.k = f.v AND "
                      "o.x < f.c"))}


def _random_join(random):
    names = random.sample(sorted(_JOINS), random.choice((1, 1, 2, 2, 3)))
    source, where = "fact f", [random.choice(_TABLE_CONDITIONS["f"])] * (random.random() < 0.6)
    for name in names:
        table, conditions = _JOINS[name]
        index = random.choice(("", "", " IGNORE INDEX (PRIMARY)" if name != "o" else
                               " IGNORE INDEX (k)"))
        kind = random.choices(("JOIN", "STRAIGHT_JOIN", "LEFT JOIN"), (6, 3, 1))[0]
        source += f" {kind} {table}{index} ON {random.choice(conditions)}"
        if random.random() < 0.85:
            condition = random.choice(_TABLE_CONDITIONS[name])
            if kind == "LEFT JOIN" and random.random() < 0.5:
                source += f" AND {condition}"
            else:
                where.append(condition)
    order = random.sample(["f", *names], len(names) + 1)
    hint = random.choice(("", "JOIN_FIXED_ORDER()", f"JOIN_ORDER({', '.join(order)})",
                          f"JOIN_PREFIX({order[0]})", "NO_BNL()"))
    shown = random.choice(("COUNT(*), SUM(CRC32(CONCAT_WS('|', f.id, {0})))",
                           "f.v % 4, COUNT(*), SUM(f.price)"))
    text = (f"SELECT /*+ {hint} */ "
            + shown.format(", ".join(f"{name}.k" for name in names)) + f" FROM {source}")
    text += f" WHERE {' AND '.join(random.sample(where, len(where)))}" if where else ""
    return text + (" GROUP BY 1" if shown.startswith("f.v") else "")


def test_random_joins(t):
    """With the switch on and off, warnings and all; and as InnoDB's rows, whose plans may differ,
    and with them what is evaluated for each row."""
    stars, reduced, filtered = Stars(t, 1500), 0, 0
    others = Stars(t, fills=False)
    count = int(os.environ.get("ROWAN_TEST_JOINS", "300"))
    for number in range(count):
        if number % 50 == 0:
            stars.both("COMMIT")
            hypergraph = OPTIMIZERS[-1] if t.random.random() < 0.25 else "off"
            stars.both(f"SET optimizer_switch = 'hypergraph_optimizer={hypergraph}'")
            stars.ours.execute(f"SET rowan_parallel_rows_min = {t.random.choice((0, 100000))}, "
                               f"rowan_parallel_workers = {t.random.choice((0, 1, 4))}")
            stars.both(f"SET join_buffer_size = {t.random.choice((128, 4096, 262144))}")
            stars.both("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            changed = t.random.choice(
                ("UPDATE dates SET year = year + 1 WHERE k % 11 = {}", "UPDATE other SET x = 3 "
                 "WHERE k % 7 = {}", "DELETE FROM customers WHERE k % 13 = {} AND k > 20", "UPDATE "
                 "fact SET d = d + 1 WHERE id % 17 = {}", "INSERT IGNORE INTO customers SELECT id, "
                 "'ASIA', v % 9 FROM fact WHERE id < 60 AND id % 3 = {}"))
            t.random.choice((stars, others)).both(changed.format(t.random.randint(0, 6)))
            for table in ("dates", "other", "customers"):
                others.both(f"ANALYZE TABLE {table}")
        query = _random_join(t.random)
        plan = stars.plan(query)
        reduced += _REDUCED in plan
        filtered += _FILTERED in plan
        actual = _outcome(stars.ours, query)
        stars.ours.execute("SET rowan_pushdown_blocks = OFF")
        off = _outcome(stars.ours, query)
        stars.ours.execute("SET rowan_pushdown_blocks = ON")
        theirs = _outcome(stars.theirs, query)
        if actual != off or actual[0] != theirs[0]:
            raise Failure(f"join {number}: {query}\nours {str(actual)[:600]}\noff "
                          f"{str(off)[:600]}\nInnoDB {str(theirs)[:600]}\n{plan}")
    print(f"{reduced} of {count} with semi-join filters, {filtered} with conditions in batches")
    t.true(reduced * 12 > count, f"{reduced} of {count} with semi-join filters")
