# SPDX-License-Identifier: GPL-2.0-only
"""Columns that come and go at once: rows of all times beside each other, with the same statements
on a table of InnoDB; rollbacks and a kill between; what is not possible at once."""
import os

import pytest

from side_by_side import FAST, Pair, same_on_both

pytestmark = pytest.mark.server(options=FAST)

_SCRIPT = """
CREATE TABLE a (id INT, s VARCHAR(20) CHARACTER SET latin1, x INT, t TEXT, b VARBINARY(3000),
 c CHAR(5), n INT NOT NULL, PRIMARY KEY (id), KEY (x));
INSERT INTO a VALUES (1, 'one', 1, REPEAT('t', 30000), REPEAT('b', 3000), 'c', 1),
 (2, NULL, NULL, NULL, NULL, NULL, 2), (3, 'three', 3, 'short', '', 'ccc', 3),
 (4, '', 4, NULL, 'b', '', 4);
ALTER TABLE a ADD COLUMN f INT DEFAULT 5 FIRST, ALGORITHM=INSTANT;
INSERT INTO a (id, s, x, n) VALUES (10, 'n', 10, 10);
ALTER TABLE a ADD COLUMN m VARCHAR(10) DEFAULT 'mm' AFTER x, ALGORITHM=INSTANT;
INSERT INTO a (id, s, x, n, t) VALUES (11, 'n', 10, 10, REPEAT('t', 20000));
UPDATE a SET x = x + 1 WHERE id = 2;
SELECT * FROM a ORDER BY id;
ALTER TABLE a DROP COLUMN t, ALGORITHM=INSTANT;
INSERT INTO a (id, s, x, n) VALUES (12, 'n', 10, 10);
UPDATE a SET x = x + 1 WHERE id = 1;
DELETE FROM a WHERE id = 11;
SELECT * FROM a ORDER BY id;
SELECT id, m FROM a FORCE INDEX (x) WHERE x > 2 ORDER BY id;
CHECK TABLE a;
ALTER TABLE a DROP COLUMN x, ALGORITHM=INSTANT;
ALTER TABLE a DROP COLUMN x, ALGORITHM=INPLACE;
ALTER TABLE a DROP COLUMN s, ADD COLUMN s INT AFTER n, ADD COLUMN z BIGINT NOT NULL DEFAULT 9 FIRST,
 ALGORITHM=INSTANT;
SELECT * FROM a ORDER BY id;
UPDATE a SET s = 5 WHERE id IN (2, 12);
ALTER TABLE a RENAME COLUMN s TO ss, DROP COLUMN f, ALGORITHM=INSTANT;
SELECT * FROM a ORDER BY id;
CHECK TABLE a;
ALTER TABLE a ADD COLUMN v INT AS (n * 2) AFTER id, ALGORITHM=INSTANT;
ALTER TABLE a ADD COLUMN w INT AS (v * 2) AFTER v;
SELECT * FROM a ORDER BY id;
ALTER TABLE a DROP COLUMN v, ALGORITHM=INSTANT;
ALTER TABLE a DROP COLUMN n, ALGORITHM=INSTANT;
ALTER TABLE a DROP COLUMN w, ALGORITHM=INSTANT;
ALTER TABLE a ADD INDEX vi (v), ALGORITHM=INPLACE, LOCK=NONE;
ALTER TABLE a ADD INDEX fi ((n + 5)), ALGORITHM=INPLACE;
SELECT v FROM a FORCE INDEX (vi) ORDER BY v;
SELECT id FROM a FORCE INDEX (fi) WHERE n + 5 = 15 ORDER BY id;
ALTER TABLE a DROP INDEX fi, ALGORITHM=INPLACE;
CHECK TABLE a;
ALTER TABLE a DROP COLUMN b, DROP COLUMN c, DROP COLUMN m, ALGORITHM=INSTANT;
SELECT * FROM a ORDER BY id;
BEGIN;
UPDATE a SET ss = 1;
DELETE FROM a WHERE id < 3;
ROLLBACK;
SELECT * FROM a ORDER BY id;
CHECK TABLE a;
CHECKSUM TABLE a;
SHOW CREATE TABLE a;
CREATE TABLE d (a INT, b INT, KEY (a, b), KEY (b));
INSERT INTO d VALUES (1, 2), (3, 4), (5, 6);
ALTER TABLE d DROP COLUMN a, ALGORITHM=INPLACE;
ALTER TABLE d ADD COLUMN k INT FIRST, ADD COLUMN l VARCHAR(9) DEFAULT 'l' AFTER k;
UPDATE d SET k = b WHERE b > 2;
SELECT * FROM d ORDER BY b;
ALTER TABLE d DROP COLUMN b;
SELECT * FROM d ORDER BY k;
CHECK TABLE d;
CREATE TABLE e (id INT PRIMARY KEY, b VARCHAR(20), KEY (b));
INSERT INTO e VALUES (1, '12'), (2, 'abc'), (3, NULL);
ALTER TABLE e ADD INDEX ((CAST(b AS SIGNED)));
ALTER TABLE e ADD COLUMN q TINYINT AS (id * 100);
SELECT * FROM e;
ALTER TABLE e ADD INDEX (q);
ALTER TABLE e DROP COLUMN q;
ALTER TABLE e ADD COLUMN r TINYINT AS (id * 10) FIRST, ADD COLUMN y INT DEFAULT 3;
ALTER TABLE e ADD INDEX (r), ADD COLUMN yy INT AFTER id;
SELECT r, id, yy, b, y FROM e FORCE INDEX (r) WHERE r > 10 ORDER BY r;
CHECK TABLE e;
"""


def test_beside_innodb(t):
    same_on_both(t, _SCRIPT)


def test_check_is_silent_about_values(t):
    if t.engine != "ROWAN":
        t.skip("InnoDB computes nothing when it checks")
    t.run("SET sql_mode = ''", "CREATE TABLE w (id INT PRIMARY KEY, v TINYINT AS (id * 100))",
          "INSERT INTO w (id) VALUES (1), (2)", "ALTER TABLE w ADD INDEX (v)",
          "ALTER TABLE w ADD INDEX ((CAST(CONCAT('a', id) AS SIGNED)))")
    t.rows("SELECT v FROM w FORCE INDEX (v) ORDER BY v", [(100,), (127,)])
    t.check_table("w")


_TYPES = ("INT", "INT NOT NULL DEFAULT 7", "VARCHAR(30) DEFAULT 'vvv'", "TEXT", "CHAR(4) NOT NULL",
          "DATETIME(3) DEFAULT '2001-02-03 04:05:06.789'", "DECIMAL(12,3)", "BIT(5) DEFAULT b'101'",
          "LONGBLOB", "JSON", "ENUM('x','y') NOT NULL", "DOUBLE DEFAULT -0.5", "TINYINT")


class _Program:
    """A table whose columns come and go; the same on both sides."""

    def __init__(self, random, both):
        self._random, self._both, self._number = random, both, 0
        self._columns = []  # (name, type; "": a virtual one)

    def create(self):
        self._both("CREATE TABLE r (id INT PRIMARY KEY, k INT, KEY (k))")

    def step(self):
        random = self._random
        choice = random.random()
        if choice < 0.25:
            self._alter()
        elif choice < 0.55:
            names = [name for name, kind in self._columns if kind and random.random() < 0.7]
            values = ", ".join(["id", "k"] + names)
            rows = ", ".join([str(random.randrange(80)), str(random.randrange(9))]
                             + [self._value(name) for name in names])
            self._both(f"REPLACE INTO r ({values}) VALUES ({rows})")
        elif choice < 0.8:
            name = random.choice(["k"] + [name for name, kind in self._columns if kind])
            self._both(f"UPDATE r SET {name} = {self._value(name)} WHERE k = {random.randrange(9)}")
        else:
            self._both(random.choice((f"DELETE FROM r WHERE id = {random.randrange(80)}", "BEGIN",
                                      "ROLLBACK", "COMMIT", f"DELETE FROM r WHERE k > 7")))

    def compare(self):
        self._both("COMMIT")
        self._both("SELECT * FROM r ORDER BY id")
        self._both("SELECT * FROM r FORCE INDEX (k) WHERE k > 2 ORDER BY id")
        self._both("CHECK TABLE r")

    def _value(self, name):
        random, kind = self._random, dict(self._columns).get(name, "INT")
        if "NOT NULL" not in kind and random.random() < 0.15:
            return "NULL"
        if kind.startswith(("TEXT", "LONGBLOB")):
            return f"REPEAT('{random.choice('abc')}', {random.choice((0, 3, 300, 9000, 40000))})"
        if kind.startswith("JSON"):
            return f"'[{random.randrange(50)}]'"
        if kind.startswith(("VARCHAR", "CHAR")):
            return f"'{random.choice(('', 'ab', 'abcd'))}'"
        if kind.startswith("ENUM"):
            return "'y'"
        if kind.startswith("DATETIME"):
            return "'2020-01-01 00:00:00.5'"
        return str(random.randrange(9))

    def _alter(self):
        changes = [self._add() if self._random.random() < 0.6 or len(self._columns) < 3
                   else self._drop() for _ in range(self._random.choice((1, 1, 2)))]
        self._both(f"ALTER TABLE r {', '.join(changes)}")

    def _add(self):
        random, name = self._random, f"c{self._number}"
        self._number += 1
        before = [name for name, kind in self._columns if kind] + ["id", "k"]
        place = random.choice(("", " FIRST", f" AFTER {random.choice(before)}"))
        if random.random() < 0.2:
            self._columns.append((name, ""))
            return f"ADD COLUMN {name} INT AS (k + id){place}"
        kind = random.choice(_TYPES)
        self._columns.append((name, kind))
        return f"ADD COLUMN {name} {kind}{place}"

    def _drop(self):
        # Not the newest: it may be of this very statement, or what another is put behind.
        number = self._random.randrange(max(1, len(self._columns) - 2))
        return f"DROP COLUMN {self._columns.pop(number)[0]}"


def _files(server):
    return sorted(name for name in os.listdir(server.data / "rowan") if name.endswith(".rws"))


def test_random_columns(t):
    server = t.new_server(FAST[1:])  # commits survive a kill
    server.start()

    pair = Pair(t, server)
    program = _Program(t.random, pair.both)
    program.create()
    before = _files(server) if t.engine == "ROWAN" else []
    for turn in range(240):
        program.step()
        if turn % 25 == 24:
            program.compare()
        if turn in (100, 200):
            program.compare()
            server.kill() if turn == 100 else server.stop()
            server.start()
            pair.open()
            program.compare()
    if t.engine == "ROWAN":
        t.equal([name for name in _files(server) if name not in before], [], "copies")
