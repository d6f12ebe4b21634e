# SPDX-License-Identifier: GPL-2.0-only
"""Sorts of one table that get fewer rows, or none as the rows come in order, beside InnoDB's
results for the same data (docs/whole_queries.md)."""
import pytest

from framework import ENGINE
from whole_queries_test import _CONDITIONS, Queries, _fill, _plan

pytestmark = [
    pytest.mark.server(options=("--loose-rowan-pushdown-rows-min=0",)),
    pytest.mark.skipif(ENGINE != "ROWAN", reason="compares Rowan with InnoDB by itself")]

_ORDERS = ("price DESC", "price", "k", "k DESC, price", "s", "s DESC, c", "d, at DESC", "f DESC",
           "wide DESC, k", "e, u DESC", "u", "bin DESC", "k + tiny", "price * 2 DESC",
           "tiny, s, k DESC", "rate DESC", "c, f", "at", "id", "t, price")


def test_first_rows_of_an_order(t):
    _fill(t)
    queries = Queries(t)
    for query in ("SELECT id, price FROM {t} ORDER BY price DESC, id LIMIT 10",
                  "SELECT id, k, s FROM {t} WHERE k < 3 ORDER BY s DESC, k, id LIMIT 5",
                  "SELECT * FROM {t} ORDER BY k DESC, id DESC LIMIT 20 OFFSET 7",
                  "SELECT id FROM {t} WHERE id BETWEEN 500 AND 1500 ORDER BY at, id LIMIT 3",
                  "SELECT u, big FROM {t} FORCE INDEX (ub) WHERE u > 5 ORDER BY big LIMIT 4",
                  "SELECT id, ROW_NUMBER() OVER (ORDER BY id) FROM (SELECT id FROM {t} ORDER BY "
                  "f DESC, id LIMIT 9) d ORDER BY id"):
        queries.check(query, False, says="kept in batches")
    for _ in range(80):
        order, limit = t.random.choice(_ORDERS), t.random.choice(
            ("1", "3", "10", "100", "5, 20", "2990, 5", "5000"))
        where = t.random.choice(("TRUE", "TRUE", *_CONDITIONS))
        last = t.random.choice(("id", "id DESC"))
        queries.check(f"SELECT id, k, s, price FROM {{t}} WHERE {where} ORDER BY {order}, {last} "
                      f"LIMIT {limit}")
        if "s" not in order and "c" not in order:
            keys = order.replace(" DESC", "")
            queries.check(f"SELECT {keys} FROM {{t}} WHERE {where} ORDER BY {order} LIMIT {limit}")
    print(f"{queries.pushed} of {queries.all} pushed")
    t.true(queries.pushed * 2 > queries.all, f"{queries.pushed} of {queries.all} pushed")


def test_first_rows_of_an_order_elsewhere(t):
    """Prepared, correlated, in a transaction; and what wants all rows."""
    _fill(t)
    queries = Queries(t)
    client = queries.client
    first = "SELECT id, price FROM {t} WHERE k < 3 ORDER BY price DESC, id LIMIT 10"
    for query in ("SELECT SQL_CALC_FOUND_ROWS id FROM {t} ORDER BY price, id LIMIT 10",
                  "SELECT id FROM {t} ORDER BY price, id",
                  "SELECT id FROM {t} WHERE RAND(1) < 2 ORDER BY price, id LIMIT 3",
                  "SELECT id FROM {t} ORDER BY s COLLATE utf8mb4_0900_as_cs, id LIMIT 3"):
        queries.check(query, False)
        t.true("kept in batches" not in _plan(client, query.replace("{t}", "ours")), query)
    queries.check("SELECT o.id, (SELECT i.id + o.id FROM {t} i WHERE i.k > 0 ORDER BY i.at, i.id "
                  "LIMIT 1) FROM {t} o WHERE o.id < 20 ORDER BY o.id", says="kept in batches")
    queries.check("(SELECT id FROM {t} ORDER BY price, id LIMIT 3) UNION ALL (SELECT id FROM {t} "
                  "ORDER BY price DESC, id LIMIT 3) ORDER BY id", says="kept in batches")
    for table in ("ours", "theirs"):
        client.execute(f"PREPARE {table}_p FROM 'SELECT id, at FROM {table} WHERE k < ? ORDER BY "
                       "at DESC, id LIMIT ? OFFSET ?'")
    for limit, offset in ((3, 0), (1, 10), (0, 0), (5000, 2), (10, 100)):
        client.execute(f"SET @k = 2, @limit = {limit}, @offset = {offset}")
        t.equal(client.query("EXECUTE ours_p USING @k, @limit, @offset"),
                client.query("EXECUTE theirs_p USING @k, @limit, @offset"))
    writer = t.client()
    client.execute("BEGIN")
    queries.check(first, says="kept in batches")
    writer.execute("BEGIN")
    for table in ("ours", "theirs"):
        writer.execute(f"UPDATE {table} SET price = price * 3 WHERE id % 3 = 0")
        writer.execute(f"DELETE FROM {table} WHERE price > 2500000")
    for who in (client, writer):
        Queries(t, who).check(first, says="kept in batches")
    writer.execute("COMMIT")
    queries.check(first)
    client.execute("COMMIT")
    queries.check(first)


_DISTINCT = ("k", "s", "c", "k, s", "u", "price", "e, c", "wide", "bin", "tiny", "at", "t",
             "s, k, e", "rate, c")


def _directions(random, columns):
    return ", ".join(f"{name}{random.choice((' DESC', ''))}" for name in columns.split(", "))


def test_small_ranges_in_order(t):
    """With rows of an earlier form of the table, and values off the page."""
    _fill(t)
    queries = Queries(t)
    for query in ("SELECT c, id FROM {t} WHERE id BETWEEN 100 AND 199 ORDER BY c, id",
                  "SELECT id, s FROM {t} WHERE id < 150 AND k < 3 ORDER BY s DESC, id LIMIT 7, 5",
                  "SELECT DISTINCT c FROM {t} WHERE id BETWEEN 100 AND 199 ORDER BY c",
                  "SELECT DISTINCT s, k FROM {t} WHERE id BETWEEN 9 AND 400 ORDER BY k, s LIMIT 5",
                  "SELECT COUNT(*), MAX(s) FROM (SELECT DISTINCT s FROM {t} WHERE id < 200 ORDER "
                  "BY s) d",
                  "SELECT o.id, (SELECT i.id + o.id FROM {t} i WHERE i.id < 90 ORDER BY i.at, i.id "
                  "LIMIT 1) FROM {t} o WHERE o.id < 20"):
        queries.check(query, False, says="sorted in batches")
    for step in range(120):
        if step == 60:
            for table in ("ours", "theirs"):
                t.run(f"ALTER TABLE {table} ADD COLUMN x INT NOT NULL DEFAULT 5, ALGORITHM=INSTANT",
                      f"UPDATE {table} SET x = id, k = k WHERE id % 4 = 0")
        low = t.random.randint(1, 2000)
        where = (f"id BETWEEN {low} AND {low + t.random.choice((0, 10, 100, 600))} AND "
                 f"{t.random.choice(('TRUE', 'TRUE', *_CONDITIONS))}")
        limit = t.random.choice(("", "", " LIMIT 3", " LIMIT 5, 20", " LIMIT 1000"))
        columns = t.random.choice(_DISTINCT)
        if step % 2 == 0:
            queries.check(f"SELECT DISTINCT {columns} FROM {{t}} WHERE {where} ORDER BY "
                          f"{_directions(t.random, columns)}{limit}")
        else:
            queries.check(f"SELECT id, {columns} FROM {{t}} WHERE {where} ORDER BY "
                          f"{_directions(t.random, columns)}, id{limit}")
    print(f"{queries.pushed} of {queries.all} pushed")
    t.true(queries.pushed * 2 > queries.all, f"{queries.pushed} of {queries.all} pushed")


def test_the_old_explain_knows_of_no_sort_either(t):
    _fill(t)
    client = t.client()
    for query in ("SELECT c FROM ours WHERE id BETWEEN 100 AND 199 ORDER BY c, id",
                  "SELECT DISTINCT c FROM ours WHERE id BETWEEN 100 AND 199 ORDER BY c"):
        for switch in ("OFF", "ON"):
            client.execute(f"SET rowan_pushdown_blocks = {switch}")
            extra = client.query(f"EXPLAIN FORMAT=TRADITIONAL {query}")[0][-1]
            t.equal("filesort" in extra, switch == "OFF", extra)


def test_small_ranges_that_are_left_to_the_sort(t):
    _fill(t, 1500)
    queries = Queries(t)
    few = "id BETWEEN 100 AND 199"
    for query in ("SELECT id FROM {t} ORDER BY price, id",
                  f"SELECT SQL_CALC_FOUND_ROWS id FROM {{t}} WHERE {few} ORDER BY k, id LIMIT 3",
                  "SELECT id FROM {t} WHERE id < 1400 ORDER BY price, id",
                  f"SELECT DISTINCT f FROM {{t}} WHERE {few} ORDER BY f",
                  f"SELECT DISTINCT k + 1 FROM {{t}} WHERE {few} ORDER BY 1",
                  f"SELECT DISTINCT k, id FROM {{t}} WHERE {few} ORDER BY RAND(1) < 2, k, id",
                  f"SELECT k, COUNT(*) n FROM {{t}} WHERE {few} GROUP BY k ORDER BY n, k"):
        queries.check(query)
        plan = _plan(queries.client, query.replace("{t}", "ours"))
        t.true("sorted in batches" not in plan, query)


def test_small_ranges_of_more_than_the_memory_for_them(t):
    for table, engine in (("ours", "ROWAN"), ("theirs", "InnoDB")):
        t.run("SET cte_max_recursion_depth = 10000",
              f"CREATE TABLE {table} (id INT PRIMARY KEY, g INT, v VARCHAR(4000)) ENGINE={engine}",
              f"INSERT INTO {table} WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM "
              "n WHERE i < 2000) SELECT i, i * 7919 % 401, CONCAT(i * 31 % 97, '-', REPEAT('x', "
              "2000 + i % 900)) FROM n", f"ANALYZE TABLE {table}")
    queries = Queries(t)
    for what in ("id, g, LENGTH(v) FROM {t} WHERE id BETWEEN 100 AND 850 ORDER BY g, id",
                 "id, g, LENGTH(v) FROM {t} WHERE id BETWEEN 100 AND 850 ORDER BY v DESC, id",
                 "id, g, v FROM {t} WHERE id BETWEEN 100 AND 280 ORDER BY g, id LIMIT 170",
                 "DISTINCT g FROM {t} WHERE id BETWEEN 100 AND 850 ORDER BY g DESC",
                 "DISTINCT v, g FROM {t} WHERE id BETWEEN 100 AND 850 ORDER BY v, g"):
        queries.check(f"SELECT {what}", False, says="sorted in batches")
