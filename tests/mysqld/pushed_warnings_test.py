# SPDX-License-Identifier: GPL-2.0-only
"""Errors, warnings and counts of examined rows of query blocks evaluated in the engine are the
server's own (docs/whole_queries.md)."""
from pathlib import Path

import pytest

from framework import ENGINE, Failure
from random_query import Statement
from rowantools.bench.sync_delay import library
from twin_sessions import OURS, Twins, WRITER

pytestmark = [
    pytest.mark.server(options=("--loose-rowan-pushdown-rows-min=0", "--performance-schema=ON")),
    pytest.mark.skipif(ENGINE != "ROWAN", reason="compares Rowan with InnoDB by itself")]

_ROWS = 600


class Twin:
    """A table of both engines, with NULLs and a few values whose squares overflow."""

    def __init__(self, t):
        self.twins = Twins(t.server, t.engine)
        self.twins.reset()
        self.run("SET cte_max_recursion_depth = 10000")
        self.run("CREATE TABLE n (id INT PRIMARY KEY, k INT, big BIGINT, v BIGINT NOT NULL, "
                 "f DOUBLE, g FLOAT, d DECIMAL(10,2), day DATE, at DATETIME(3), s VARCHAR(20), "
                 "e ENUM('a', 'b'))")
        self.run(f"INSERT INTO n WITH RECURSIVE i (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i "
                 f"WHERE i < {_ROWS}) SELECT i, IF(i % 3 = 0, NULL, i % 10), IF(i % 200 = 0, "
                 "9000000000000000000, i), i, i / 2, i / 4, i / 100, '2024-01-01' + INTERVAL i DAY,"
                 " '2024-01-01' + INTERVAL i HOUR, CONCAT('s', i % 20), 1 + i % 2 FROM i")

    def run(self, sql):
        return self.twins.run(WRITER, Statement(sql))

    def plan(self, sql):
        """Empty if the statement fails before it has one."""
        outcome = self.twins.run_on(OURS, WRITER, Statement(f"EXPLAIN FORMAT=TREE {sql}"))
        return "" if outcome.error else outcome.rows[0][0]

    def check(self, sql):
        """Both engines do the same; whether ours does it in batches."""
        self.run(sql)
        return "in batches" in self.plan(sql)

    def pushed(self, sql):
        """Both engines do the same, and ours does it in batches."""
        outcome = self.run(sql)
        plan = self.plan(sql)
        if "in batches" not in plan:
            raise Failure(f"not pushed: {sql}\n{plan}")
        return outcome

    def close(self):
        self.twins.close()


@pytest.fixture(name="twin")
def _twin(t):
    twin = Twin(t)
    yield twin
    twin.close()


def test_a_null_constant_hides_no_error(t, twin):
    twin.run("SET @no = NULL")
    for condition in ("big * big + @no > 0", "big * big > @no", "big * big IN (1, NULL)",
                      "big * big NOT IN (1, NULL)", "big * big BETWEEN @no AND 5",
                      "f * 1e308 > @no", "(f * 1e308) * @no > 1"):
        for where in (condition, f"NOT ({condition})", f"({condition}) IS NOT TRUE",
                      f"k = 1 AND {condition}"):
            twin.pushed(f"SELECT COUNT(*), SUM(v) FROM n WHERE {where}")
    t.equal(twin.pushed("SELECT COUNT(*) FROM n WHERE big * big + @no > 1").error, 1690)


def test_null_hides_no_error_of_a_later_condition(t, twin):
    twin.run("SET @no = NULL")
    overflow, pushed, queries = "big * big > 7", 0, []
    for first in ("k > 5", "k IS NULL", "k < 100", "v < 300", "k < @no", "k IN (1, @no)"):
        for joined in (f"{first} AND {overflow}", f"{first} OR {overflow}",
                       f"{first} AND v > 0 AND {overflow}", f"{first} XOR {overflow}",
                       f"{first} AND ({first} OR {overflow})"):
            for test in ("", " IS TRUE", " IS FALSE", " IS NOT TRUE", " IS NOT FALSE"):
                queries += [f"({joined}){test}", f"NOT ({joined}){test}"]
    for between in ("k BETWEEN 8 AND big * big", "v BETWEEN k AND big * big"):
        queries += [between, f"NOT ({between})"]
    for where in queries:
        pushed += twin.check(f"SELECT COUNT(*), SUM(v) FROM n WHERE {where}")
    t.true(pushed * 5 > len(queries) * 4, f"{pushed} of {len(queries)} pushed")
    t.equal(twin.pushed(f"SELECT COUNT(*) FROM n WHERE (k > 5 AND {overflow}) IS TRUE").error, 1690)


def test_warnings_of_constants_are_those_of_the_server(t, twin):
    """Once if the server keeps the value, for each row if it does not, none if it needs none."""
    pushed, queries = 0, []
    for condition in ("f < '5abc'", "g = 'abc'", "f BETWEEN '1x' AND '20y'", "f IN (1.5e0, '2x')",
                      "v > '12x'", "d > 'x'", "d BETWEEN '1' AND '5x'", "day > '2024-13-45'",
                      "at >= '2024-02-30'", "at > '20240105 1'", "day IN ('2024-01-05', 'x')",
                      "v < CAST(CONCAT('3', @x) AS SIGNED)", "f < CONCAT('5', @x)",
                      "at > CONCAT('2024-01-0', @x)", "day = CAST(CONCAT(@x, '1') AS DATE)",
                      "d < CAST(CONCAT('5', @x) AS DECIMAL(10,1))", "v < 10 / @zero",
                      "v < CONVERT(@x, SIGNED) + 20", "s = CAST('s123' AS CHAR(2))",
                      "v IN (1, CAST(@x AS SIGNED))", "s > CAST(@x AS BINARY(1))",
                      "k < CAST('7x' AS SIGNED)", "v < ?"):
        queries += [condition, f"v < 0 AND {condition}", f"v > 590 AND ({condition})",
                    f"(k > 5 AND {condition}) IS TRUE", f"k IS NULL OR {condition}"]
    twin.run("SET sql_mode = 'ERROR_FOR_DIVISION_BY_ZERO,STRICT_TRANS_TABLES', @x = 'x', @zero = 0,"
             " @p = '12x'")
    for where in queries:
        for shown in ("COUNT(*), SUM(v)", "id"):
            query = f"SELECT {shown} FROM n WHERE {where}"
            if "?" in query:
                twin.run(f"PREPARE q FROM \"{query}\"")
                twin.run("EXECUTE q USING @p")
            else:
                pushed += twin.check(query)
    t.true(pushed * 2 > len(queries), f"{pushed} of {2 * len(queries)} pushed")


def test_sorted_ranges_with_constants_that_warn(t, twin):
    for query in ("id FROM n WHERE id < 10 AND id BETWEEN 1 AND '9x' ORDER BY v DESC",
                  "DISTINCT k FROM n WHERE id < 60 AND v < '50x' ORDER BY k DESC",
                  "id FROM n WHERE id < 60 AND v < '50x' ORDER BY k, id LIMIT 4"):
        twin.pushed(f"SELECT {query}")
    twin.run("PREPARE p FROM 'SELECT DISTINCT k, id FROM n WHERE id BETWEEN ? AND ? AND v < ? "
             "ORDER BY k DESC, id'")
    for low, high, most in (("1", "40", "30"), ("'10'", "'40x'", "'50x'"), ("5", "60", "NULL"),
                            ("'7'", "'90'", "'60x'"), ("1", "20", "15.5")):
        twin.run(f"SET @low = {low}, @high = {high}, @most = {most}")
        twin.run("EXECUTE p USING @low, @high, @most")
    twin.run("DEALLOCATE PREPARE p")


def test_an_error_of_a_condition_is_the_only_one(t, twin):
    for query in ("COUNT(*) FROM n WHERE big * big > 5", "k, SUM(v) FROM n WHERE big * big > 5 "
                  "GROUP BY k", "id FROM n WHERE big * big > 5",
                  "id, v FROM n WHERE big * big > 5 ORDER BY d LIMIT 3",
                  "id FROM n WHERE id BETWEEN 190 AND 210 AND big * big > 5 ORDER BY v"):
        if twin.run(f"SELECT {query}").error == 0:
            raise Failure(f"no error: {query}")
        twin.run("GET DIAGNOSTICS @conditions = NUMBER")
        twin.run("SELECT @conditions")


def test_what_a_constant_does_happens_as_in_the_server(t, twin):
    for constant in ("(@seen := 5)", "LAST_INSERT_ID(7)"):
        for first in ("v < 0", "v > 0"):
            twin.run("SET @seen = 1")
            twin.run("SELECT LAST_INSERT_ID(1)")
            twin.run(f"SELECT COUNT(*), SUM(v) FROM n WHERE {first} AND k < {constant}")
            twin.run("SELECT @seen, LAST_INSERT_ID()")


def test_incomplete_dates_are_warned_of_for_each_row(t, twin):
    twin.run("SET sql_mode = ''")
    twin.run("INSERT INTO n (id, v, day, at) SELECT id + 1000, v, IF(id % 2, '0000-00-00', "
             "'2020-00-05'), IF(id % 3, '2021-07-00', '0000-00-00') FROM n WHERE id < 50")
    for mode in ("", "NO_ZERO_DATE,NO_ZERO_IN_DATE", "STRICT_ALL_TABLES"):
        twin.run(f"SET sql_mode = '{mode}'")
        for query in ("day, SUM(v) FROM n GROUP BY day", "at, MAX(day) FROM n GROUP BY at",
                      "k, MIN(day), MAX(at), MIN(at) FROM n GROUP BY k",
                      "k, day, YEAR(at), COUNT(*) FROM n GROUP BY k",
                      "MIN(day), MAX(at), COUNT(*) FROM n", "YEAR(day), SUM(v) FROM n GROUP BY 1"):
            twin.pushed(f"SELECT {query}")
        for column in ("at", "day"):
            twin.run(f"SELECT DISTINCT {column} FROM n WHERE id BETWEEN 990 AND 1100 "
                     f"ORDER BY {column} DESC")


def test_examined_rows_are_those_of_the_table(t, twin):
    for query in ("SELECT COUNT(*), SUM(v) FROM n WHERE v > 10", "SELECT SUM(v) FROM n WHERE v < 0",
                  "SELECT k, SUM(v) FROM n WHERE v > 10 GROUP BY k",
                  "SELECT id FROM n WHERE v % 50 = 0", "SELECT id FROM n WHERE v > 300 LIMIT 5",
                  "SELECT id, v FROM n WHERE v > 500 ORDER BY d LIMIT 3",
                  "SELECT id, v FROM n WHERE id BETWEEN 10 AND 90 ORDER BY v",
                  "SELECT id, v FROM n WHERE id BETWEEN 10 AND 90 AND v > 50 ORDER BY v LIMIT 4",
                  "SELECT DISTINCT k FROM n WHERE id BETWEEN 10 AND 90 ORDER BY k",
                  "SELECT k, SUM(v) FROM n WHERE big < 1000 AND big * big > 90 GROUP BY k",
                  "SELECT id FROM n WHERE big < 1000 AND (big * big > 5) IS TRUE",
                  "SELECT e, MAX(v), MIN(s) FROM n GROUP BY e",
                  "SELECT COUNT(*) FROM n WHERE f < '5abc' AND v > 3",
                  "SELECT id, (SELECT COUNT(HEX(i.s)) FROM n i WHERE i.v > o.v AND i.k < 5) FROM n "
                  "o WHERE o.id < 4",
                  "SELECT id, (SELECT COUNT(i.k) FROM n i WHERE i.v > o.v AND i.k < 5) FROM n "
                  "o WHERE o.id < 4",
                  "SELECT DISTINCT k FROM n WHERE v > 30", "SELECT DISTINCT s FROM n LIMIT 7",
                  "SELECT COUNT(DISTINCT k), SUM(v) FROM n WHERE v < 500"):
        twin.run(query)
        twin.run("SELECT ROWS_EXAMINED FROM performance_schema.events_statements_history WHERE "
                 "THREAD_ID = PS_CURRENT_THREAD_ID() AND SQL_TEXT LIKE 'SELECT% FROM n %' "
                 "ORDER BY EVENT_ID DESC LIMIT 1")


def test_examined_rows_of_a_failing_statement(t, twin):
    for query in ("SELECT SUM(v) FROM n WHERE big * big > 5", "SELECT SUM(big * big) FROM n",
                  "SELECT id FROM n WHERE big * big > 5 AND v > 7",
                  "SELECT k, SUM(v) FROM n WHERE big * big > 5 GROUP BY k",
                  "SELECT k, SUM(big * big) FROM n WHERE v > 20 GROUP BY k",
                  "SELECT id, v FROM n WHERE id BETWEEN 150 AND 500 AND big * big > 5 ORDER BY v"):
        t.equal(twin.pushed(query).error, 1690, query)
        twin.run("SELECT ROWS_EXAMINED FROM performance_schema.events_statements_history WHERE "
                 f"THREAD_ID = PS_CURRENT_THREAD_ID() AND SQL_TEXT = '{query}' "
                 "ORDER BY EVENT_ID DESC LIMIT 1")


def test_a_statement_fails_where_there_is_no_memory_for_its_plan(t, monkeypatch):
    server = t.new_server()
    counts = Path(server.folder) / "refuse"
    counts.write_text("")
    counts.chmod(0o666)
    monkeypatch.setenv("LD_PRELOAD", str(library(Path(__file__).with_name("refuse_memory.c"))))
    monkeypatch.setenv("ROWAN_REFUSE_MEMORY", str(counts))
    server.start()
    client = t.client(server)
    client.execute("SET rowan_pushdown_rows_min = 0")
    client.execute("CREATE TABLE n (id INT PRIMARY KEY, a INT, b INT)")
    client.execute("INSERT INTO n VALUES (1, 2, 3), (2, 3, 4), (3, NULL, 5)")
    for query, expected in (("SELECT SUM(a * b), MAX(b) FROM n WHERE a > 1", [("18", 4)]),
                            ("SELECT id FROM n WHERE a > 2 AND b < 9", [(2,)])):
        t.true("in batches" in client.query(f"EXPLAIN FORMAT=TREE {query}")[0][0], query)
        for number in "12":
            counts.write_text(number)
            t.error(query, 1041, client)
            t.equal(counts.read_text(), "")
            t.equal(client.query(query), expected)
