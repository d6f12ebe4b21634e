# SPDX-License-Identifier: GPL-2.0-only
"""SPATIAL indexes beside InnoDB: definitions and errors end alike; random geometries are found by
every predicate as InnoDB finds them, with the index and without it; changes, rollbacks and crashes
keep the index in agreement with the rows; locking reads let no phantoms in."""
import random

import pytest

from framework import MysqlError, SEED
from random_geometry import PLANE, SPHERE, RandomGeometry
from side_by_side import FAST, same_on_both

pytestmark = pytest.mark.server(options=FAST)

_DEFINITIONS = """
CREATE TABLE a (id INT PRIMARY KEY, g GEOMETRY NOT NULL SRID 0, SPATIAL KEY (g));
SHOW CREATE TABLE a;
SHOW WARNINGS;
CREATE TABLE b (id INT PRIMARY KEY, g GEOMETRY NOT NULL, SPATIAL KEY (g));
SHOW WARNINGS;
CREATE TABLE c (id INT PRIMARY KEY, g POINT NOT NULL SRID 4326, KEY k (g));
SHOW CREATE TABLE c;
CREATE TABLE x (g GEOMETRY SRID 0, SPATIAL KEY (g));
CREATE TABLE x (g GEOMETRY NOT NULL SRID 0, h GEOMETRY NOT NULL SRID 0, SPATIAL KEY (g, h));
CREATE TABLE x (g GEOMETRY NOT NULL SRID 0, UNIQUE KEY (g));
CREATE TABLE x (g GEOMETRY NOT NULL SRID 0, PRIMARY KEY (g));
CREATE TABLE x (g GEOMETRY NOT NULL SRID 0, KEY (g(10)));
CREATE TABLE x (g GEOMETRY NOT NULL SRID 0, SPATIAL KEY (g DESC));
CREATE TABLE x (g GEOMETRY NOT NULL SRID 0, KEY USING BTREE (g));
CREATE TABLE x (g VARCHAR(10) NOT NULL, SPATIAL KEY (g));
CREATE TABLE x (id INT, g GEOMETRY NOT NULL SRID 0, KEY (id, g));
CREATE TABLE x (j INT, g POINT AS (POINT(j, j)) VIRTUAL NOT NULL SRID 0, SPATIAL KEY (g));
CREATE TABLE x (j INT, g POINT AS (POINT(j, j)) STORED NOT NULL SRID 0, SPATIAL KEY (g));
INSERT INTO x (j) VALUES (1), (2), (3);
SELECT j FROM x FORCE INDEX (g)
 WHERE MBRContains(ST_GeomFromText('POLYGON((0 0,0 2,2 2,2 0,0 0))'), g);
INSERT INTO a VALUES (1, ST_GeomFromText('POINT(1 2)')),
 (2, ST_GeomFromText('LINESTRING(0 0,9 9)'));
INSERT INTO a VALUES (3, NULL);
INSERT INTO a (id) VALUES (3);
INSERT INTO a VALUES (3, '');
INSERT INTO a VALUES (3, 'nonsense');
INSERT INTO a VALUES (3, ST_GeomFromText('POINT(1 2)', 4326));
INSERT IGNORE INTO a VALUES (3, NULL);
INSERT IGNORE INTO a VALUES (3, '');
INSERT IGNORE INTO a (id) VALUES (3);
UPDATE a SET g = NULL WHERE id = 1;
UPDATE a SET g = '' WHERE id = 1;
UPDATE IGNORE a SET g = NULL WHERE id = 1;
SELECT id, ST_AsText(g) FROM a ORDER BY id;
INSERT INTO b VALUES (1, ST_GeomFromText('POINT(1 2)')),
 (2, ST_GeomFromText('POINT(1 2)', 4326));
INSERT INTO b VALUES (3,
 ST_GeomFromText('LINESTRING(170 10,-170 12)', 4326, 'axis-order=long-lat'));
SELECT id, ST_AsText(g) FROM b WHERE ST_SRID(g) = 4326 ORDER BY id;
UPDATE b SET g = ST_GeomFromText('POINT(5 5)', 3857) WHERE id = 2;
DELETE FROM b WHERE id = 1;
CHECK TABLE a, b, c;
REPLACE INTO a VALUES (1, ST_GeomFromText('POINT(8 8)')),
 (5, ST_GeomFromText('GEOMETRYCOLLECTION EMPTY'));
SELECT id FROM a FORCE INDEX (g) WHERE MBRIntersects(g, ST_GeomFromText('POINT(8 8)')) ORDER BY id;
SELECT id FROM a FORCE INDEX (g) WHERE ST_Equals(g, ST_GeomFromText('POINT(8 8)')) ORDER BY id;
SELECT id FROM a FORCE INDEX (g)
 WHERE NOT MBRIntersects(g, ST_GeomFromText('POINT(8 8)')) ORDER BY id;
SELECT id FROM a FORCE INDEX (g) WHERE MBRIntersects(g, NULL) ORDER BY id;
SELECT id FROM a FORCE INDEX (g) WHERE MBRIntersects(g, ST_GeomFromText('POINT(8 8)', 4326));
SELECT COUNT(*) FROM a FORCE INDEX (g);
SELECT id FROM a FORCE INDEX (g) ORDER BY id;
SELECT MAX(id) FROM a FORCE INDEX (g);
UPDATE a FORCE INDEX (g) SET g = POINT(ST_X(g) + 1, 1)
 WHERE MBRWithin(g, ST_GeomFromText('POLYGON((7 7,7 9,9 9,9 7,7 7))'));
DELETE FROM a WHERE MBREquals(g, ST_GeomFromText('POINT(9 1)'));
SELECT id, ST_AsText(g) FROM a ORDER BY id;
ALTER TABLE a ADD COLUMN h GEOMETRY;
ALTER TABLE a ADD SPATIAL KEY (h);
ALTER TABLE a DROP COLUMN h;
ALTER TABLE a DROP KEY g;
ALTER TABLE a ADD SPATIAL KEY s (g);
ALTER TABLE a RENAME KEY s TO t;
ALTER TABLE a ALTER INDEX t INVISIBLE;
ALTER TABLE a MODIFY g GEOMETRY NOT NULL SRID 3857;
ALTER TABLE a MODIFY g GEOMETRY NOT NULL;
ALTER TABLE a RENAME COLUMN g TO gg;
ALTER TABLE a ADD COLUMN q INT DEFAULT 4, ALTER INDEX t VISIBLE;
SHOW CREATE TABLE a;
SELECT id FROM a FORCE INDEX (t)
 WHERE MBRIntersects(gg, ST_GeomFromText('POINT(3 3)')) ORDER BY id;
CREATE TABLE d LIKE a;
INSERT INTO d SELECT * FROM a;
ALTER TABLE d FORCE;
SHOW CREATE TABLE d;
SELECT id FROM d FORCE INDEX (t)
 WHERE MBRIntersects(gg, ST_GeomFromText('POINT(3 3)')) ORDER BY id;
CREATE TEMPORARY TABLE e (id INT, g POINT NOT NULL SRID 0, SPATIAL KEY (g));
INSERT INTO e VALUES (1, POINT(1, 1)), (2, POINT(2, 2)), (3, POINT(1, 1));
SELECT id FROM e FORCE INDEX (g) WHERE MBREquals(g, POINT(1, 1)) ORDER BY id;
UPDATE e SET g = POINT(3, 3) WHERE MBREquals(g, POINT(1, 1));
SELECT id FROM e FORCE INDEX (g) WHERE MBREquals(g, POINT(3, 3)) ORDER BY id;
TRUNCATE TABLE d;
CHECK TABLE a, d, e;
HANDLER a OPEN;
HANDLER a READ t FIRST;
HANDLER a READ t NEXT;
HANDLER a READ t = (POINT(1, 1));
HANDLER a CLOSE;
"""


def test_definitions_and_errors(t):
    same_on_both(t, _DEFINITIONS)


class _Pair:
    """A table on the engine under test and its like on InnoDB, in one session."""

    def __init__(self, t, srid, rng):
        self.t, self.rng = t, rng
        self.geometry = RandomGeometry(rng, srid)
        self.client = t.client()
        columns = f"(id INT PRIMARY KEY, g GEOMETRY NOT NULL SRID {srid}, v INT, SPATIAL KEY s (g))"
        self.client.execute(f"CREATE TABLE ours {columns} ENGINE={t.engine}")
        self.client.execute(f"CREATE TABLE theirs {columns} ENGINE=InnoDB")

    def outcome(self, statement, table):
        try:
            result = self.client.execute(statement.replace("@", table))
        except MysqlError as error:
            return error.code
        return sorted(result.rows) if result.rows else result.affected

    def run(self, statement):
        ours, theirs = self.outcome(statement, "ours"), self.outcome(statement, "theirs")
        self.t.equal(ours, theirs, statement)

    def insert(self, first, count):
        values = (f"({i}, {self.geometry.expression()}, {i % 7})"
                  for i in range(first, first + count))
        for row in values:
            self.run(f"REPLACE INTO @ VALUES {row}")

    def compare(self, searches):
        """By the index and without it. What InnoDB's index misses, ours has to have."""
        for _ in range(searches):
            condition = self.geometry.condition("g")
            sql = f"SELECT id FROM @ {{}} INDEX (s) WHERE {condition}"
            everything = self.outcome(sql.format("IGNORE"), "ours")
            self.t.equal(everything, self.outcome(sql.format("IGNORE"), "theirs"), condition)
            found = self.outcome(sql.format("FORCE"), "ours")
            if found != everything:
                self.t.equal(found, self.outcome(sql.format("FORCE"), "theirs"), condition)


def _random_searches(t, srid):
    for round_number in range(30 if t.long else 1):
        pair = _Pair(t, srid, random.Random(f"{SEED}/{srid}/{round_number}"))
        pair.insert(0, 300)
        pair.compare(300)
        pair.client.execute("DELETE FROM ours")
        pair.client.execute("DELETE FROM theirs")
        t.run("CHECK TABLE ours")
        pair.client.execute("DROP TABLE ours, theirs")


def test_random_searches_in_a_plane(t):
    _random_searches(t, PLANE)


def test_random_searches_on_the_sphere(t):
    _random_searches(t, SPHERE)


def _random_change(pair, rng):
    low = rng.randrange(400)
    kind = rng.randrange(7)
    if kind == 0:
        return f"DELETE FROM @ WHERE id BETWEEN {low} AND {low + 5}"
    if kind == 1:
        return f"UPDATE @ SET g = {pair.geometry.expression()} WHERE id BETWEEN {low} AND {low + 3}"
    if kind == 2:
        return f"UPDATE @ SET id = id + 1000, v = v + 1 WHERE id = {low}"
    if kind == 3:
        # Only geometries that are equal by their boxes: the set does not depend on the plan.
        box = f"(SELECT * FROM (SELECT g FROM @ ORDER BY id LIMIT {low % 50}, 1) AS x)"
        return f"UPDATE @ SET g = {pair.geometry.expression()} WHERE g = {box}"
    return f"REPLACE INTO @ VALUES ({low}, {pair.geometry.expression()}, {low % 7})"


def test_changes_rollbacks_and_crashes(t):
    rng = random.Random(f"{SEED}/changes")
    pair = _Pair(t, PLANE, rng)
    durable = "SET GLOBAL innodb_flush_log_at_trx_commit = 2"  # the server is killed, no machine
    pair.client.execute(durable)
    pair.insert(0, 200)
    for round_number in range(40 if t.long else 3):
        pair.client.execute("BEGIN")
        for number in range(60):
            if number % 20 == 10:
                pair.client.execute("SAVEPOINT s")
            pair.run(_random_change(pair, rng))
            if number % 20 == 19:
                pair.client.execute("ROLLBACK TO SAVEPOINT s")
        pair.compare(10)
        if round_number % 3 == 1:
            t.server.kill()
            t.server.start()
            pair.client = t.client()
            pair.client.execute(durable)
        else:
            pair.client.execute("COMMIT" if round_number % 3 == 0 else "ROLLBACK")
        pair.run("SELECT id, ST_AsText(g), v FROM @")
        pair.compare(10)
        t.check_table("ours", pair.client)


def test_old_snapshots_search_their_own_rows(t):
    t.run("CREATE TABLE g (id INT PRIMARY KEY, p POINT NOT NULL SRID 0, SPATIAL KEY (p))",
          "INSERT INTO g VALUES (1, POINT(1, 1)), (2, POINT(2, 2)), (3, POINT(50, 50))")
    near = ("SELECT id, ST_X(p) FROM g FORCE INDEX (p) WHERE MBRWithin(p, "
            "ST_GeomFromText('POLYGON((0 0,0 9,9 9,9 0,0 0))')) ORDER BY id")
    reader = t.client()
    reader.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    t.run("UPDATE g SET p = POINT(60, 60) WHERE id = 1",
          "UPDATE g SET p = POINT(3, 3) WHERE id = 3", "DELETE FROM g WHERE id = 2",
          "INSERT INTO g VALUES (4, POINT(4, 4))")
    t.equal(reader.query(near), [(1, 1.0), (2, 2.0)], "the snapshot")
    t.rows(near, [(3, 3.0), (4, 4.0)])
    reader.execute("COMMIT")
    t.equal(reader.query(near), [(3, 3.0), (4, 4.0)], "a new snapshot")


_AREA = "ST_GeomFromText('POLYGON((0 0,0 9,9 9,9 0,0 0))')"


def test_locking_searches_let_no_phantoms_in(t):
    if t.engine != "ROWAN":
        t.skip("InnoDB lets some of these updates in")
    t.run("CREATE TABLE g (id INT PRIMARY KEY, p GEOMETRY NOT NULL SRID 0, SPATIAL KEY (p))",
          "INSERT INTO g WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
          "WHERE i < 50) SELECT i, POINT(i * 3 - 40, i * 7 % 50 - 10) FROM n",
          "INSERT INTO g VALUES (100, ST_GeomFromText('LINESTRING(-5 -5,3 3)'))")
    search = f"SELECT id FROM g FORCE INDEX (p) WHERE MBRIntersects(p, {_AREA}) ORDER BY id"
    into = ("POINT(5, 5)", "POINT(0, 9)", "ST_GeomFromText('LINESTRING(-70 4,70 4)')",
            "ST_GeomFromText('POLYGON((8 8,8 20,20 20,20 8,8 8))')",
            "ST_GeomFromText('POLYGON((-1e9 -1e9,-1e9 1e9,1e9 1e9,1e9 -1e9,-1e9 -1e9))')",
            "ST_GeomFromText('MULTIPOINT(8.5 8.5,8.6 8.6)')")
    beside = ("POINT(500, 500)", "POINT(-300, 4)",
              "ST_GeomFromText('LINESTRING(100 100,101 101)')")
    locker, other = t.client(), t.client()
    others = [t.client() for _ in range(2 * len(into))]
    for client in others:
        client.execute("SET rowan_lock_wait_timeout = 1")
    waits = [f"INSERT INTO g VALUES ({200 + i}, {geometry})" for i, geometry in enumerate(into)]
    waits += [f"UPDATE g SET p = {geometry} WHERE id = {44 + i}"
              for i, geometry in enumerate(into)]
    for level, suffix in (("REPEATABLE READ", " FOR UPDATE"), ("SERIALIZABLE", "")):
        locker.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
        locker.execute("BEGIN")
        before = locker.query(search + suffix)
        t.threads([lambda statement=statement, client=client: t.error(statement, 1205, client)
                   for statement, client in zip(waits, others)])
        for number, geometry in enumerate(beside):
            other.execute(f"INSERT INTO g VALUES ({300 + number}, {geometry})")
        t.equal(locker.query(search + suffix), before, "the same search again")
        locker.execute("ROLLBACK")
        other.execute("DELETE FROM g WHERE id >= 200")
    t.check_table("g")


def test_altering_and_building(t):
    t.run("CREATE TABLE g (id INT PRIMARY KEY, p GEOMETRY NOT NULL SRID 0, v INT)",
          "SET cte_max_recursion_depth = 100000",
          "INSERT INTO g WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
          "WHERE i < 5000) SELECT i, ST_Buffer(POINT(i % 97, i % 89), 0.5), i FROM n")
    count = f"SELECT COUNT(*) FROM g {{}} WHERE MBRIntersects(p, {_AREA})"
    expected = t.run(count.format(""))
    stop, failures = [], []

    def write():
        writer = t.client()
        while not stop:
            low = t.random.randrange(5000)
            try:
                writer.execute("UPDATE g SET p = ST_Buffer(POINT(id % 97, id % 89), 0.25 + v % 3), "
                               f"v = v + 3 WHERE id BETWEEN {low} AND {low + 3}")
            except MysqlError as error:
                if error.code != 1213:
                    failures.append(error)

    def alter():
        client = t.client()
        lock = ", ALGORITHM=INPLACE, LOCK=NONE" if t.engine == "ROWAN" else ""
        for _ in range(3):
            client.execute(f"ALTER TABLE g ADD SPATIAL KEY p (p){lock}")
            client.execute("ALTER TABLE g DROP KEY p")
        client.execute(f"ALTER TABLE g ADD SPATIAL KEY p (p){lock}")
        stop.append(True)
    t.threads([write, alter])
    t.equal(failures, [], "the writer's errors")
    t.check_table("g")
    t.equal(t.run(count.format("FORCE INDEX (p)")), t.run(count.format("IGNORE INDEX (p)")),
            "beside the writer")
    t.run("UPDATE g SET p = ST_Buffer(POINT(id % 97, id % 89), 0.5)")
    t.equal(t.run(count.format("FORCE INDEX (p)")), expected, "after")
    t.run("ALTER TABLE g FORCE, ALGORITHM=COPY", "CREATE TABLE h LIKE g",
          "INSERT INTO h SELECT * FROM g WHERE id > 10", "DELETE FROM h WHERE id % 2 = 0")
    t.equal(t.run(count.format("FORCE INDEX (p)")), expected, "after a copy")
    t.check_table("g")
    t.check_table("h")
