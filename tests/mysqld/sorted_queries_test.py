# SPDX-License-Identifier: GPL-2.0-only
"""Sorts of one table that get fewer rows, or none as the rows come in order, beside InnoDB's
results for the same data (docs/whole_queries.md)."""
import pytest

from framework import ENGINE
from whole_queries_test import _CONDITIONS, Queries, _fill, _plan

pytestmark = [
    pytest.mark.server(options=("--loose-rowan-pushdown-blocks=ON",)),
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
