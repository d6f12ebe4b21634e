# SPDX-License-Identifier: GPL-2.0-only
"""Partitioned tables: the same statements with the same outcome on Rowan and on InnoDB, changes of
partitions in place, exchange with a table, and nothing left behind when the server dies."""
import itertools
import os

import pytest

from framework import Failure, MysqlError
from side_by_side import FAST, Side, same_on_both

pytestmark = pytest.mark.server(options=FAST)

_ROWS = """
INSERT INTO p (a, b, c, d) VALUES (1, 1, 'one', '2001-01-01'), (2, 12, 'two', '2002-02-02'),
  (3, 23, NULL, '2003-03-03'), (4, 4, 'four', '2004-04-04'), (5, 15, 'five', '2005-05-05'),
  (6, 26, 'six', '2006-06-06'), (7, 7, 'seven', '2007-07-07'), (8, 18, '', '2008-08-08');
SELECT * FROM p ORDER BY a;
SELECT * FROM p ORDER BY c, a;
SELECT * FROM p ORDER BY c DESC, a DESC;
SELECT COUNT(*) FROM p;
SELECT MIN(b), MAX(b), MIN(c), MAX(c) FROM p;
SELECT a FROM p WHERE b = 15;
SELECT a FROM p WHERE b BETWEEN 4 AND 18 ORDER BY a;
SELECT c FROM p FORCE INDEX (c) WHERE c > 'o' ORDER BY c;
SELECT c FROM p FORCE INDEX (c) WHERE c IN ('one', 'seven', 'x') ORDER BY c;
UPDATE p SET b = 29 - b;
SELECT a, b FROM p ORDER BY a;
UPDATE p SET c = CONCAT(c, '!') WHERE b > 15;
UPDATE p SET b = b + 1 ORDER BY b DESC LIMIT 3;
SELECT * FROM p ORDER BY a;
DELETE FROM p WHERE b = 28;
INSERT INTO p (a, b, c) VALUES (2, 17, 'dup') ON DUPLICATE KEY UPDATE c = 'changed', b = b + 1;
REPLACE INTO p (a, b, c) VALUES (2, 18, 'replaced'), (9, 9, 'new');
INSERT IGNORE INTO p (a, b) VALUES (2, 18), (10, 1000);
SELECT a, b, c FROM p ORDER BY a, b;
BEGIN;
UPDATE p SET b = (b + 10) % 30;
DELETE FROM p WHERE a = 4;
SAVEPOINT s;
DELETE FROM p;
ROLLBACK TO s;
SELECT a, b FROM p ORDER BY a, b;
ROLLBACK;
SELECT a, b FROM p ORDER BY a, b;
DELETE FROM p ORDER BY c, a, b LIMIT 2;
SELECT a, b FROM p ORDER BY a, b;
CHECK TABLE p;
CHECKSUM TABLE p;
TRUNCATE p;
SELECT COUNT(*) FROM p;
INSERT INTO p (a, b) VALUES (1, 1), (2, 11);
RENAME TABLE p TO q;
CREATE TABLE p LIKE q;
SHOW CREATE TABLE p;
INSERT INTO p SELECT * FROM q;
SELECT a, b, p.c FROM p ORDER BY a;
DROP TABLE p, q;
"""

_KINDS = (
    "RANGE (b) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20),"
    " PARTITION p2 VALUES LESS THAN (100))",
    "LIST (b % 3) (PARTITION l0 VALUES IN (0, 5), PARTITION l1 VALUES IN (1),"
    " PARTITION l2 VALUES IN (2, NULL))",
    "HASH (b) PARTITIONS 4",
    "KEY (b) PARTITIONS 3",
    "LINEAR HASH (b) PARTITIONS 5",
    "RANGE COLUMNS (b, a) (PARTITION p0 VALUES LESS THAN (10, 3),"
    " PARTITION p1 VALUES LESS THAN (20, MAXVALUE),"
    " PARTITION p2 VALUES LESS THAN (MAXVALUE, MAXVALUE))",
    "LINEAR KEY (a) PARTITIONS 3",
    "RANGE (b) SUBPARTITION BY HASH (a) SUBPARTITIONS 2 (PARTITION p0 VALUES LESS THAN (10),"
    " PARTITION p1 VALUES LESS THAN (20), PARTITION p2 VALUES LESS THAN MAXVALUE)",
    "LIST COLUMNS (b) SUBPARTITION BY KEY (b) SUBPARTITIONS 2"
    " (PARTITION p0 VALUES IN (1, 12, 23, 4, 15, 26, 7, 18, 28, 17, 6, 25, 14, 3, 22, 11, 29, 2),"
    " PARTITION p1 VALUES IN (9, 5, 8, 10, 13, 16, 19, 20, 21, 24, 27, 0))",
)


def test_same_statements_same_outcome(t):
    keys = itertools.cycle(("PRIMARY KEY (a, b), KEY c (c)", "KEY b (b), KEY c (c, a)"))
    for clause in _KINDS:
        same_on_both(t, f"CREATE TABLE p (a INT, b INT, c VARCHAR(20), d DATE, {next(keys)})"
                        f" PARTITION BY {clause};\n" + _ROWS)


def test_changes_of_partitions(t):
    same_on_both(t, """
CREATE TABLE r (a INT AUTO_INCREMENT, b INT, c TEXT, PRIMARY KEY (a, b), UNIQUE KEY cb (c(5), b))
  PARTITION BY RANGE (b) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20));
INSERT INTO r (b, c) VALUES (1, 'one'), (11, 'eleven'), (2, 'two'), (12, REPEAT('12', 9000));
INSERT INTO r (b, c) VALUES (30, 'too much');
INSERT INTO r (b, c) VALUES (1, 'one');
ALTER TABLE r ADD PARTITION (PARTITION p2 VALUES LESS THAN (40),
  PARTITION p3 VALUES LESS THAN (50));
INSERT INTO r (b, c) VALUES (30, 'thirty'), (41, NULL);
SELECT a, b, LENGTH(c) FROM r ORDER BY a;
ALTER TABLE r REORGANIZE PARTITION p0, p1 INTO (PARTITION p0 VALUES LESS THAN (2),
  PARTITION n VALUES LESS THAN (12), PARTITION p1 VALUES LESS THAN (20));
SELECT a, b, LENGTH(c) FROM r PARTITION (p0, p1) ORDER BY a;
ALTER TABLE r DROP PARTITION p3;
INSERT INTO r (b, c) VALUES (19, 'nineteen');
SELECT a, b, LENGTH(c) FROM r ORDER BY a;
ALTER TABLE r TRUNCATE PARTITION p1, n;
SELECT a, b, LENGTH(c) FROM r ORDER BY a;
INSERT INTO r (b, c) VALUES (19, 'nineteen');
ALTER TABLE r REBUILD PARTITION p1, p2;
ALTER TABLE r OPTIMIZE PARTITION p1;
ALTER TABLE r ANALYZE PARTITION p1;
ALTER TABLE r CHECK PARTITION ALL;
ALTER TABLE r REPAIR PARTITION p1, p2;
ALTER TABLE r DROP PARTITION none;
SELECT a, b, c FROM r PARTITION (none);
INSERT INTO r PARTITION (p0) (b, c) VALUES (19, 'no');
SELECT * FROM r ORDER BY a DESC;
SHOW CREATE TABLE r;
ALTER TABLE r PARTITION BY HASH (b) PARTITIONS 3;
ALTER TABLE r ADD PARTITION PARTITIONS 2;
SELECT a, b, LENGTH(c) FROM r ORDER BY a;
ALTER TABLE r COALESCE PARTITION 3;
SELECT a, b, LENGTH(c) FROM r ORDER BY a;
SELECT PARTITION_NAME, PARTITION_METHOD, TABLE_ROWS >= 0 FROM information_schema.PARTITIONS
  WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'r';
CHECK TABLE r;
ALTER TABLE r REMOVE PARTITIONING;
SELECT a, b, LENGTH(c) FROM r ORDER BY a;
INSERT INTO r (b, c) VALUES (1, 'last');
SELECT MAX(a) FROM r;
SHOW CREATE TABLE r;
DROP TABLE r;
""")


def test_exchange(t):
    same_on_both(t, """
CREATE TABLE e (a INT AUTO_INCREMENT PRIMARY KEY, b VARCHAR(20), KEY (b)) PARTITION BY RANGE (a)
  (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20));
CREATE TABLE x (a INT AUTO_INCREMENT PRIMARY KEY, b VARCHAR(20), KEY (b));
INSERT INTO x VALUES (11, 'x');
INSERT INTO e VALUES (1, 'p0'), (12, 'p1');
ALTER TABLE e EXCHANGE PARTITION p0 WITH TABLE x;
ALTER TABLE e EXCHANGE PARTITION p1 WITH TABLE x;
SELECT * FROM e ORDER BY a;
SELECT * FROM x ORDER BY a;
INSERT INTO x (b) VALUES ('next');
INSERT INTO e (b) VALUES ('next');
SELECT * FROM e ORDER BY b;
SELECT * FROM x ORDER BY a;
ALTER TABLE e EXCHANGE PARTITION p0 WITH TABLE x WITHOUT VALIDATION;
CHECK TABLE e, x EXTENDED;
SELECT a FROM e ORDER BY a;
DROP TABLE x;
CREATE TABLE x (a INT PRIMARY KEY, b VARCHAR(30), KEY (b));
ALTER TABLE e EXCHANGE PARTITION p0 WITH TABLE x;
DROP TABLE x, e;
""")


def test_other_changes_of_the_table(t):
    same_on_both(t, """
CREATE TABLE o (a INT PRIMARY KEY, b INT, c VARCHAR(20)) PARTITION BY HASH (a) PARTITIONS 3;
INSERT INTO o VALUES (1, 1, 'a'), (2, 4, 'b'), (3, 9, NULL), (4, 16, 'd'), (5, 25, 'e');
ALTER TABLE o ADD COLUMN d INT DEFAULT 7;
INSERT INTO o VALUES (6, 36, 'f', 1);
ALTER TABLE o ADD KEY b (b), ADD KEY cd (c, d DESC);
SELECT b FROM o FORCE INDEX (b) ORDER BY b DESC;
SELECT c, d FROM o FORCE INDEX (cd) WHERE c > 'a' ORDER BY c DESC;
ALTER TABLE o ADD UNIQUE KEY d (d);
ALTER TABLE o ADD UNIQUE KEY d (d, a);
ALTER TABLE o DROP KEY cd, RENAME COLUMN c TO cc, RENAME KEY b TO bb;
SELECT * FROM o ORDER BY a;
ALTER TABLE o MODIFY cc VARCHAR(50), ADD COLUMN g INT AS (b * 2) VIRTUAL, ADD KEY g (g);
SELECT g FROM o FORCE INDEX (g) WHERE g > 5 ORDER BY g DESC;
SELECT * FROM o FORCE INDEX (g) WHERE g > 5 ORDER BY g;
CHECK TABLE o EXTENDED;
ALTER TABLE o MODIFY b BIGINT;
ALTER TABLE o DROP COLUMN d;
SELECT * FROM o ORDER BY a;
ALTER TABLE o AUTO_INCREMENT = 5;
ALTER TABLE o ADD FOREIGN KEY (b) REFERENCES o (a);
ALTER TABLE o ADD PARTITION (PARTITION x), ADD KEY (b);
SHOW CREATE TABLE o;
CREATE TEMPORARY TABLE y (a INT) PARTITION BY HASH (a);
HANDLER o OPEN;
HANDLER o READ FIRST;
HANDLER o READ g FIRST;
HANDLER o READ g NEXT;
HANDLER o READ g NEXT;
HANDLER o READ g = (32);
HANDLER o READ g LAST;
HANDLER o READ g PREV;
HANDLER o CLOSE;
LOCK TABLES o WRITE;
INSERT INTO o (a, b) VALUES (100, 1);
SELECT a FROM o ORDER BY a;
UNLOCK TABLES;
DROP TABLE o;
""")


def test_changes_that_move_rows(t):
    """KEY hashes the columns of the primary key, in the table's order and by their collations: the
    partition of every row may be another one behind these."""
    row = "(id INT NOT NULL, a INT NOT NULL, b VARCHAR(9) CHARACTER SET utf8mb3"
    keys = f"{row}, UNIQUE KEY u (id), UNIQUE KEY v (id, a))"
    for definition, change in (
            (f"{row}, PRIMARY KEY (id)) PARTITION BY KEY ()",
             "DROP PRIMARY KEY, ADD PRIMARY KEY (id, a)"),
            (f"{row}, PRIMARY KEY (id, a)) PARTITION BY KEY ()", "MODIFY a INT NOT NULL FIRST"),
            (f"{row}, PRIMARY KEY (id, a)) PARTITION BY RANGE (id) SUBPARTITION BY KEY "
             "(id, a) SUBPARTITIONS 4 (PARTITION p VALUES LESS THAN MAXVALUE)",
             "MODIFY a INT NOT NULL FIRST"),
            (f"{keys} PARTITION BY KEY ()", "DROP KEY u"),
            (f"{row}) PARTITION BY KEY (b)", "MODIFY b VARCHAR(9) CHARACTER SET utf8mb4")):
        parts = "" if "SUBPARTITION" in definition else " PARTITIONS 4"
        t.run("DROP TABLE IF EXISTS moved", f"CREATE TABLE moved {definition}{parts}",
              "INSERT INTO moved (id, a, b) VALUES "
              + ", ".join(f"({i}, {i % 7}, 'v{i % 7}')" for i in range(90)))
        t.error(f"ALTER TABLE moved {change}, ALGORITHM = INPLACE", (1845, 1846))
        t.run(f"ALTER TABLE moved {change}")
        t.check_table("moved")
    t.run("DROP TABLE moved", f"CREATE TABLE moved {row}, PRIMARY KEY (id, a)) PARTITION BY KEY () "
          "PARTITIONS 4", "ALTER TABLE moved ADD x INT FIRST, DROP b, ALGORITHM = INPLACE",
          "ALTER TABLE moved ADD KEY (x), FORCE, ALGORITHM = INPLACE")


def test_order_by_what_is_computed(t):
    same_on_both(t, """
CREATE TABLE g (id INT PRIMARY KEY, s TEXT, v TEXT AS (REVERSE(s)) VIRTUAL,
  w INT AS (LENGTH(s)) VIRTUAL, n INT, KEY v (v(3)), KEY w (w), KEY n (n), KEY nv (n, v(2)))
  PARTITION BY HASH (id) PARTITIONS 4;
INSERT INTO g (id, s, n) VALUES (1, 'abc', 5), (2, 'xb', 4), (3, 'qqqa', 3), (4, 'cc', 2),
  (5, 'zzd', 1), (6, NULL, 5), (7, 'aad', 5), (8, 'abe', 5), (9, REPEAT('x', 9000), 6);
SELECT id FROM g FORCE INDEX (n) ORDER BY n, id;
SELECT id, n FROM g FORCE INDEX (n) ORDER BY n DESC, id DESC LIMIT 3;
SELECT id, v FROM g FORCE INDEX (v) WHERE v > 'a' ORDER BY v, id;
SELECT id, w FROM g FORCE INDEX (w) ORDER BY w DESC, id DESC;
SELECT id, n, v FROM g FORCE INDEX (nv) WHERE n = 5 AND v > 'a' ORDER BY id;
SELECT MAX(w), MIN(w) FROM g;
HANDLER g OPEN;
HANDLER g READ v FIRST;
HANDLER g READ v NEXT;
HANDLER g READ v NEXT;
HANDLER g READ nv LAST;
HANDLER g READ nv PREV;
HANDLER g READ nv PREV;
HANDLER g CLOSE;
DROP TABLE g;
""")


def test_lookups_find_the_rows_of_all_partitions(t):
    """InnoDB's find too few here: an index on an expression makes the server believe that the key
    of a lookup has the column b, too (docs/partitions.md)."""
    values = ", ".join(f"({a}, {b}, {a})" for a in range(20) for b in range(10))
    for clause in ("KEY () PARTITIONS 3", "HASH (a * b) PARTITIONS 3",
                   "RANGE (a) SUBPARTITION BY KEY (b) SUBPARTITIONS 2 (PARTITION x VALUES LESS THAN"
                   " (7), PARTITION y VALUES LESS THAN MAXVALUE)"):
        t.run("DROP TABLE IF EXISTS p", "CREATE TABLE p (a INT, b INT, c INT, PRIMARY KEY (a, b), "
              f"KEY k (a, c), KEY e ((b DIV 2))) PARTITION BY {clause}",
              f"INSERT INTO p VALUES {values}")
        for index in ("PRIMARY", "k"):
            t.run("FLUSH TABLES p")
            t.rows("SELECT COUNT(*) FROM p STRAIGHT_JOIN p AS q FORCE INDEX (" + index + ") "
                   "ON q.a = p.a", [(2000,)])


class _RandomRows:
    """Statements on `p (a, b, c, d)` with one right outcome: what they cut off is ordered."""

    def __init__(self, random):
        self._random = random

    def _b(self):
        return self._random.randrange(30)

    def _where(self):
        low = self._b()
        return self._random.choice((
            f"b = {low}", f"b BETWEEN {low} AND {low + self._random.randrange(12)}",
            f"a = {self._random.randrange(60)}", f"c LIKE '{low}%'", f"c > '{low}' AND b < {low}",
            f"b IN ({low}, {self._b()}, {self._b()})", "c IS NULL"))

    def _row(self):
        c = self._random.choice(("NULL", f"'{self._b()}'", f"REPEAT('{self._b()}', 5000)"))
        return f"({self._random.randrange(60)}, {self._b()}, {c}, '2001-01-01')"

    def statement(self):
        where, order = self._where(), self._random.choice(("", " DESC"))
        rows = ", ".join(self._row() for _ in range(self._random.randrange(1, 4)))
        return self._random.choice((
            f"INSERT INTO p VALUES {rows}", f"INSERT IGNORE INTO p VALUES {rows}",
            f"REPLACE INTO p VALUES {rows}",
            f"INSERT INTO p VALUES {rows} ON DUPLICATE KEY UPDATE b = (b + 7) % 30, c = 'again'",
            f"UPDATE IGNORE p SET b = {self._b()} WHERE {where} ORDER BY a, b LIMIT 5",
            f"UPDATE p SET c = CONCAT(IFNULL(c, ''), 'x') WHERE {where}",
            f"UPDATE p SET b = (b + 11) % 30 WHERE {where}",
            f"DELETE FROM p WHERE {where} ORDER BY b{order}, a, c LIMIT 3",
            f"SELECT * FROM p WHERE {where} ORDER BY c{order}, a, b",
            f"SELECT b, COUNT(*), MAX(a) FROM p WHERE {where} GROUP BY b ORDER BY b{order}",
            f"SELECT c FROM p FORCE INDEX (c) WHERE {where} ORDER BY c{order} LIMIT 7",
            "SELECT COUNT(*), SUM(a), SUM(b), SUM(LENGTH(c)) FROM p",
            "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s", "ROLLBACK TO s"))


def test_random_rows(t):
    keys = itertools.cycle(("PRIMARY KEY (a, b), KEY c (c(10))",
                            "UNIQUE KEY b (b, a), KEY c (c(9), a)"))
    for clause in _KINDS:
        ours, theirs = Side(t, t.engine, f"{t.database}_a"), Side(t, "InnoDB", f"{t.database}_b")
        program = _RandomRows(t.random)
        create = (f"CREATE TABLE p (a INT, b INT, c TEXT, d DATE, {next(keys)})"
                  f" PARTITION BY {clause}")
        for statement in (create, *(program.statement() for _ in range(2000 if t.long else 120)),
                          "CHECK TABLE p", "SELECT a, b, c, d FROM p ORDER BY a, b, c"):
            t.equal(ours.outcome(statement), theirs.outcome(statement), statement)
        ours.drop()
        theirs.drop()


def test_a_crash_keeps_counters_and_prepared_rows(t):
    server = t.new_server(binlog=True)
    server.start()
    client = t.client(server)
    client.query("CREATE TABLE p (a INT AUTO_INCREMENT PRIMARY KEY, b INT) PARTITION BY HASH (a)"
                 " PARTITIONS 4")
    client.query("INSERT INTO p (b) VALUES (1), (2), (3), (4), (5), (6)")
    client.query("DELETE FROM p WHERE a > 3")
    client.query("XA START 'x'")
    client.query("INSERT INTO p VALUES (10, 1), (11, 2)")
    client.query("XA END 'x'")
    client.query("XA PREPARE 'x'")
    server.kill()
    server.start()
    client = t.client(server)
    client.query("SET lock_wait_timeout = 1")
    try:
        client.query("ALTER TABLE p COALESCE PARTITION 1")
        t.true(False, "DDL did not wait for the prepared transaction")
    except MysqlError as error:
        t.equal(error.code, 1205, "error of the DDL")
    client.query("XA COMMIT 'x'")
    client.query("ALTER TABLE p COALESCE PARTITION 1")
    client.query("INSERT INTO p (b) VALUES (7)")
    t.equal(client.query("SELECT a FROM p ORDER BY a"), [(1,), (2,), (3,), (10,), (11,), (12,)],
            "rows")
    client.query("DELETE FROM p WHERE a = 12")
    server.kill()
    server.start()
    client = t.client(server)
    client.query("INSERT INTO p (b) VALUES (8)")
    t.equal(client.query("SELECT MAX(a) FROM p")[0][0], 13, "value after the crash")


def test_sessions_wait_for_rows_alone(t):
    t.run("CREATE TABLE w (a INT, b INT, c INT, PRIMARY KEY (a, b), KEY c (c)) PARTITION BY RANGE"
          " (b) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))",
          "INSERT INTO w VALUES (1, 1, 1), (2, 2, 2), (11, 11, 1), (12, 12, 2)")
    one, other = t.client(), t.client()
    other.query("SET innodb_lock_wait_timeout = 1")
    if t.engine == "ROWAN":
        other.query("SET rowan_lock_wait_timeout = 1")
    for client in (one, other):
        client.query("SET transaction_isolation = 'READ-COMMITTED'")
        client.query("BEGIN")
    one.query("UPDATE w SET c = c + 10 WHERE a = 1 AND b = 1")
    one.query("UPDATE w SET b = 15 WHERE a = 2 AND b = 2")
    other.query("UPDATE w SET c = c + 100 WHERE b = 12")
    t.equal(other.query("SELECT a FROM w WHERE c < 100 ORDER BY a FOR UPDATE SKIP LOCKED"),
            [(11,)], "rows that nobody locks")
    t.equal(other.query("SELECT a, b FROM w ORDER BY a"), [(1, 1), (2, 2), (11, 11), (12, 12)],
            "committed rows")
    # Reads what is committed of the row that the other has locked, and passes over it.
    t.equal(other.execute("UPDATE w SET c = c + 1000 WHERE c = 7 OR a = 11").affected, 1, "changed")
    try:
        other.query("DELETE FROM w WHERE a = 1 AND b = 1")
        t.true(False, "the locked row was deleted")
    except MysqlError as error:
        t.equal(error.code, 1205, "error of the DELETE")
    one.query("COMMIT")
    other.query("COMMIT")
    t.rows("SELECT a, b, c FROM w ORDER BY a",
           [(1, 1, 11), (2, 15, 2), (11, 11, 1001), (12, 12, 102)])


_DDL_UNDER_FIRE = (
    "ALTER TABLE p REORGANIZE PARTITION p0, p1 INTO (PARTITION n VALUES LESS THAN (7),"
    " PARTITION m VALUES LESS THAN (20))",
    "ALTER TABLE p REORGANIZE PARTITION n, m INTO (PARTITION p0 VALUES LESS THAN (10),"
    " PARTITION p1 VALUES LESS THAN (20))",
    "ALTER TABLE p REBUILD PARTITION ALL", "ALTER TABLE p EXCHANGE PARTITION p2 WITH TABLE x",
    "ALTER TABLE p ADD PARTITION (PARTITION more VALUES LESS THAN (200))",
    "ALTER TABLE p DROP PARTITION more", "ALTER TABLE p TRUNCATE PARTITION more",
    "ALTER TABLE p ADD KEY k (c, b)", "ALTER TABLE p DROP KEY k",
    "RENAME TABLE p TO q, q TO p", "ALTER TABLE p REBUILD PARTITION p2")


def _files_settle(t, server, wanted):
    """Waits until the tables have as many files as they should, and no more."""
    def files():
        return sorted(name for name in os.listdir(server.data / "rowan")
                      if name.startswith("space_"))
    try:
        t.wait_for(lambda: len(files()) == wanted, "no file is left over")
    except Failure as error:
        raise Failure(f"{wanted} files are wanted, not {files()}") from error


def test_full_text_is_refused(t):
    """As InnoDB does: words would be searched in one partition only."""
    parts = " PARTITION BY HASH (id) PARTITIONS 3"
    t.error(f"CREATE TABLE f (id INT PRIMARY KEY, b TEXT, FULLTEXT (b)){parts}", 1214)
    t.run(f"CREATE TABLE f (id INT PRIMARY KEY, b TEXT){parts}")
    t.error("ALTER TABLE f ADD FULLTEXT (b)", 1214)
    t.run("CREATE TABLE g (id INT PRIMARY KEY, b TEXT, FULLTEXT (b))")
    t.error("ALTER TABLE g" + parts, 1214)
    t.rows("SELECT COUNT(*) FROM g WHERE MATCH (b) AGAINST ('word')", [(0,)])


def test_kill_9_leaves_the_old_or_the_new_partitions(t):
    server = t.new_server(binlog=True)
    server.start()
    client = t.client(server)
    client.query("CREATE TABLE p (a INT, b INT, c VARCHAR(20), PRIMARY KEY (a, b), KEY c (c))"
                 " PARTITION BY RANGE (b) (PARTITION p0 VALUES LESS THAN (10),"
                 " PARTITION p1 VALUES LESS THAN (20), PARTITION p2 VALUES LESS THAN (100))")
    client.query("CREATE TABLE x (a INT, b INT, c VARCHAR(20), PRIMARY KEY (a, b), KEY c (c))")
    client.query("SET SESSION cte_max_recursion_depth = 100000")
    client.query("INSERT INTO p WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1"
                 " FROM n WHERE i < 3000) SELECT i, i * 7 % 30, CONCAT('v', i) FROM n")
    own = len([name for name in os.listdir(server.data / "rowan") if name.startswith("space_")]) - 4
    for _ in range(20 if t.long else 2):
        client = t.client(server)
        order = list(_DDL_UNDER_FIRE)
        t.random.shuffle(order)
        t.amid(client, order, 0.6, server.kill)  # some fail, the table's state is not known
        server.start()
        after = t.client(server)
        parts = after.query("SELECT COUNT(*) FROM information_schema.PARTITIONS"
                            " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ('p', 'q', 'x')")
        _files_settle(t, server, own + parts[0][0])
        t.check_table("p", client=after)
        t.check_table("x", client=after)
        t.equal(after.query("SELECT (SELECT COUNT(*) FROM p) + (SELECT COUNT(*) FROM x)")[0][0],
                3000, "rows")
