# SPDX-License-Identifier: GPL-2.0-only
"""Indexes that several threads build: what is in them, of all kinds and beside writers, duplicates,
KILL, the variable."""
import os
import threading

from framework import MysqlError

_ROWS = 12000
# Values wide enough for dozens of leaves. Off-page ones, a column that came later, one that is
# computed.
_TABLE = ("CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, k INT, v VARCHAR(100), b BLOB,"
          " t TEXT, g INT AS (k * 2) VIRTUAL, p POINT NOT NULL SRID 0)")
_INDEXES = ("ADD INDEX k (k)", "ADD INDEX v (v, k DESC)", "ADD UNIQUE INDEX u (v(50), id)",
            "ADD INDEX b (b(20))", "ADD FULLTEXT INDEX t (t)", "ADD SPATIAL INDEX p (p)",
            "ADD INDEX n (later, k)")
_NAMES = ("k", "v", "u", "b", "t", "p", "n")


def _fill(t, rows=_ROWS):
    seed = t.random.randrange(1 << 30)
    t.run(_TABLE)
    t.run("SET SESSION cte_max_recursion_depth = 100000",
          "INSERT INTO a (k, v, b, t, p) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1"
          f" FROM n WHERE i < {rows}) SELECT CRC32({seed} + i) % 5000, IF(i % 13, CONCAT('Value ',"
          f" LEFT(SHA2(i + {seed}, 256), 40)), NULL), IF(i % 50, LEFT(SHA2(i, 256), i % 32),"
          " REPEAT(SHA2(i, 256), 250)),"
          " CONCAT('word', i % 7, ' other', i % 300), POINT(i % 100, i / 100) FROM n")
    t.run("ALTER TABLE a ADD COLUMN later INT DEFAULT 5", "UPDATE a SET later = k WHERE id % 7 = 0")


def _queries():
    return [("k", "k < 100"), ("v", "v LIKE 'value 1%'"), ("u", "v LIKE 'value ab%'"),
            ("b", "b LIKE 'a%'"), ("n", "later = 5 AND k > 4000")]


def test_all_kinds_of_indexes(t):
    if t.engine != "ROWAN":
        t.skip("about our variable")
    _fill(t)
    expected = [t.run(f"SELECT COUNT(*), SUM(id) FROM a IGNORE INDEX (PRIMARY) WHERE {where}")
                for _, where in _queries()]
    for threads in (1, 3, 0):
        t.run(f"SET SESSION rowan_ddl_threads = {threads}",
              f"ALTER TABLE a {', '.join(_INDEXES)}, ALGORITHM=INPLACE, LOCK=NONE")
        t.check_table("a")
        for (index, where), rows in zip(_queries(), expected):
            t.rows(f"SELECT COUNT(*), SUM(id) FROM a FORCE INDEX ({index}) WHERE {where}", rows)
        t.rows("SELECT COUNT(*) FROM a WHERE MATCH (t) AGAINST ('+word3 +other10' IN BOOLEAN MODE)",
               t.run("SELECT COUNT(*) FROM a WHERE t LIKE 'word3 other10'"))
        # Computed columns keep the scan in one thread, the trees are built by several.
        t.run("ALTER TABLE a ADD INDEX g (g), ADD INDEX f ((k + 1)), ADD INDEX vk (v, k)")
        t.check_table("a")
        t.run("ALTER TABLE a DROP INDEX g, DROP INDEX f, DROP INDEX vk",
              "ALTER TABLE a FORCE, ALGORITHM=INPLACE")
        t.check_table("a")
        t.run("ALTER TABLE a " + ", ".join(f"DROP INDEX {name}" for name in _NAMES))
    t.equal([name for name in os.listdir(t.server.data / "rowan")
             if name.startswith("rowan.sort_")], [], "files of sorting")


def test_duplicates_are_the_same(t):
    if t.engine != "ROWAN":
        t.skip("about our variable")
    _fill(t)
    t.run("UPDATE a SET v = 'twice' WHERE id IN (77, 11900)", "UPDATE a SET k = 7")
    errors = set()
    for threads in (1, 2, 4):
        t.run(f"SET SESSION rowan_ddl_threads = {threads}")
        for _ in range(3):
            errors.add(t.error("ALTER TABLE a ADD INDEX b (b(20)), ADD UNIQUE INDEX u (v),"
                               " ADD UNIQUE INDEX k (k), ALGORITHM=INPLACE", 1062))
    t.equal(errors, {"Duplicate entry 'twice' for key 'a.u'"}, "errors")
    t.check_table("a")


def test_writers_beside_a_build(t):
    if t.engine != "ROWAN":
        t.skip("about our variable")
    _fill(t)
    stop = threading.Event()
    turns = []

    def write(number):
        client = t.client()
        turn = 0
        while not stop.is_set() or turn < 5:
            first = (turn * 997 + number * 4000) % _ROWS
            try:
                client.query("BEGIN")
                client.query(f"UPDATE a SET k = k + 1, v = CONCAT('w{number} ', id, ' {turn}')"
                             f" WHERE id BETWEEN {first} AND {first} + 20 AND id % 3 = {number}")
                client.query(f"DELETE FROM a WHERE id = {first} AND id % 3 = {number}")
                client.query("ROLLBACK" if turn % 4 == 3 else "COMMIT")
            except MysqlError as error:
                if error.code != 1213:  # both write where their ranges meet
                    raise
            turn += 1
        turns.append(turn)
    writers = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for writer in writers:
        writer.start()
    try:
        for threads in (4, 2):
            t.run(f"SET SESSION rowan_ddl_threads = {threads}",
                  "ALTER TABLE a ADD INDEX k (k), ADD INDEX v (v, k), ADD UNIQUE INDEX u (v, id),"
                  " ALGORITHM=INPLACE, LOCK=NONE")
            t.check_table("a")
            t.run("ALTER TABLE a DROP INDEX k, DROP INDEX v, DROP INDEX u")
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    t.equal(len(turns), 2, "writers that ended well")
    t.check_table("a")


def test_kill(t):
    if t.engine != "ROWAN":
        t.skip("about our variable")
    _fill(t)
    for _ in range(3):
        worker = t.client()
        number = worker.query("SELECT CONNECTION_ID()")[0][0]
        worker.query("SET SESSION rowan_ddl_threads = 4")
        failed = t.amid(worker, ["ALTER TABLE a ADD INDEX k (k), ADD INDEX v (v, k),"
                                 " ADD UNIQUE INDEX u (v, id)"], 0.1,
                        lambda number=number: t.run(f"KILL QUERY {number}"))
        t.check_table("a")
        if not failed:
            t.run("ALTER TABLE a DROP INDEX k, DROP INDEX v, DROP INDEX u")
    t.equal([name for name in os.listdir(t.server.data / "rowan")
             if name.startswith("rowan.sort_")], [], "files of sorting")


def test_the_variable(t):
    if t.engine != "ROWAN":
        t.skip("about our variable")
    t.rows("SELECT @@GLOBAL.rowan_ddl_threads, @@SESSION.rowan_ddl_threads", [(0, 0)])
    t.run("SET SESSION rowan_ddl_threads = 64")
    t.rows("SELECT @@GLOBAL.rowan_ddl_threads, @@SESSION.rowan_ddl_threads", [(0, 64)])
    t.run("SET SESSION rowan_ddl_threads = 65")
    t.equal(t.value("SELECT @@SESSION.rowan_ddl_threads"), 64)
