# SPDX-License-Identifier: GPL-2.0-only
"""Indexes on expressions and virtual columns whose values depend on settings of the session. Rows
are written under some settings and changed under others: statements end as on InnoDB without such
an index, and no entry is left behind. (With one InnoDB leaves entries behind, takes them for
duplicates, and ends the server when it meets some: row0ins.cc, is_committed.)"""
import threading

import pytest

from framework import needs_foreign_keys
from rowantools.client import MysqlError
from side_by_side import FAST, Pair

pytestmark = pytest.mark.server(options=FAST)

_PAD = "SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH,STRICT_TRANS_TABLES'"
_PLAIN = "SET sql_mode = 'STRICT_TRANS_TABLES'"
_UTC, _TOKYO = "SET time_zone = '+00:00'", "SET time_zone = '+09:00'"
_STAMPS = "(1, '2020-01-01 20:00:00'), (2, '2020-01-31 23:00:00'), (3, '2020-06-01 01:00:00')"


def _without_expression(statement):
    """Its index k is on id."""
    begin = statement.find("KEY k (")
    if begin < 0:
        return statement
    end, depth = statement.index("(", begin) + 1, 1
    while depth > 0:
        depth += {"(": 1, ")": -1}.get(statement[end], 0)
        end += 1
    return f"{statement[:begin]}KEY k (id){statement[end:]}"


def _on_both(t, pair, statement):
    ours = _without_warnings_of_expressions(pair.ours.outcome(statement))
    t.equal(ours, pair.theirs.outcome(_without_expression(statement)), statement)
    return ours


def _without_warnings_of_expressions(outcome):
    if outcome[0] != "done":
        return outcome
    return (*outcome[:-1], [row for row in outcome[-1] if row[1] not in (3751, "3751")])


def _both(t, pair, tables, statements):
    """Runs them on both engines and compares the tables; ours have an entry for each row."""
    for statement in statements:
        _on_both(t, pair, statement)
    for table in tables:
        pair.both(f"SELECT * FROM {table} IGNORE INDEX (k) ORDER BY id")
        _whole(t, pair.ours, table)


def _whole(t, ours, table):
    rows = ours.outcome(f"SELECT COUNT(*) FROM {table} IGNORE INDEX (k)")[3]
    t.equal(ours.outcome(f"SELECT COUNT(*) FROM {table} FORCE INDEX (k)")[3], rows, "entries")
    _not_damaged(t, ours.outcome(f"CHECK TABLE {table}")[3])


def _not_damaged(t, checked):
    t.equal(checked[-1][2:], ("status", "OK"), checked)
    t.true(all("other settings" in row[3] for row in checked[:-1]), checked)


def _same(t, tables, script):
    pair = Pair(t)
    _both(t, pair, tables, [line.strip() for line in script.strip().removesuffix(";").split(";\n")])
    pair.drop()


def test_update_and_delete(t):
    for definition, setting, other, rows in (
            ("ts TIMESTAMP, KEY k ((DATE(ts)))", _UTC, _TOKYO, _STAMPS),
            ("ts TIMESTAMP, KEY k ((HOUR(ts)))", _UTC, _TOKYO, _STAMPS),
            ("ts TIMESTAMP, v CHAR(30) AS (CAST(ts AS CHAR(30))), KEY k (v)", _UTC, _TOKYO,
             _STAMPS),
            ("ts TIMESTAMP, b INT, KEY k (b, (DATE(ts)), id)", _UTC, _TOKYO, _STAMPS),
            ("ts DATE, KEY k ((DATE_FORMAT(ts, '%M')))", "SET lc_time_names = 'en_US'",
             "SET lc_time_names = 'de_DE'", _STAMPS),
            ("ts CHAR(20), KEY k ((CONCAT(ts, 'x')))", _PLAIN, _PAD, _STAMPS),
            ("ts CHAR(20), KEY k ((CONCAT(ts, 'x')))", _PAD, _PLAIN, _STAMPS),
            ("ts VARCHAR(30), KEY k ((DATE(ts)))", "SET sql_mode = ''",
             "SET sql_mode = 'NO_ZERO_DATE,NO_ZERO_IN_DATE'",
             "(1, '0000-00-00'), (2, '2020-00-01'), (3, '2020-06-01')")):
        pair = Pair(t)
        columns = "(id, ts)"
        change = "ts = ts + INTERVAL 40 DAY" if "CHAR(" not in definition[:12] else "ts = 'other'"
        if "zero" in other.lower():
            change = "ts = '2021-01-01'"
        statements = [
            f"CREATE TABLE t (id INT PRIMARY KEY, {definition})", setting,
            f"INSERT INTO t {columns} VALUES {rows}", other, f"UPDATE t SET {change} WHERE id = 1",
            "UPDATE t SET id = id + 10 WHERE id = 2", "DELETE FROM t WHERE id = 3",
            f"INSERT INTO t {columns} VALUES {rows.replace('(1,', '(31,').replace('(2,', '(32,')}",
            setting, "BEGIN", f"UPDATE t SET {change} WHERE id < 30",
            "DELETE FROM t WHERE id IN (12, 32)", "ROLLBACK"]
        _both(t, pair, ["t"], statements)
        _both(t, pair, ["t"], [other, "SAVEPOINT s", "DELETE FROM t WHERE id < 30", setting,
                               "DELETE FROM t"])
        pair.drop()


def test_statements(t):
    _same(t, ["t", "o"], f"""
CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP, v CHAR(30) AS (CAST(ts AS CHAR(30))), n INT,
 KEY k (v));
CREATE TABLE o (id INT PRIMARY KEY, n INT, ts TIMESTAMP, KEY k ((DAYOFYEAR(ts))));
{_UTC};
INSERT INTO t (id, ts) VALUES {_STAMPS}, (4, '2020-03-03 22:00:00'), (5, NULL), (6, '2021-01-01');
INSERT INTO o (id, ts) VALUES {_STAMPS};
{_TOKYO};
INSERT INTO t (id, ts) VALUES (1, '2020-01-02 03:00:00') ON DUPLICATE KEY UPDATE n = 5, ts = ts + 1;
INSERT INTO t (id, ts) VALUES (2, '2022-01-02 03:00:00') ON DUPLICATE KEY UPDATE id = 22, n = 1;
REPLACE INTO t (id, ts) VALUES (3, '2020-01-01'), (4, '2020-01-01'), (44, '2020-01-01');
UPDATE t JOIN o USING (id) SET t.ts = o.ts - INTERVAL 1 DAY, o.n = 7, o.ts = o.ts - INTERVAL 1 DAY;
DELETE t, o FROM t JOIN o USING (id) WHERE id = 3;
CREATE TRIGGER g AFTER UPDATE ON o FOR EACH ROW UPDATE t SET ts = ts + INTERVAL 3 DAY;
CREATE TRIGGER h BEFORE DELETE ON o FOR EACH ROW DELETE FROM t WHERE id = 22;
UPDATE o SET n = 8;
SET time_zone = '-05:00';
UPDATE o SET n = 9, ts = ts - INTERVAL 1 DAY;
DELETE FROM o WHERE id = 1;
UPDATE t SET ts = ts + INTERVAL id DAY ORDER BY id DESC LIMIT 2;
INSERT INTO t (id, ts) SELECT id, ts FROM o ON DUPLICATE KEY UPDATE ts = VALUES(ts);
INSERT INTO t (id) VALUES (100), (44);
UPDATE IGNORE t SET id = 44;
UPDATE t SET id = id + 1, ts = ts - INTERVAL 1 DAY ORDER BY id DESC;
""")


def test_unique_values(t):
    """What is a duplicate is decided by the values that are stored, as on InnoDB."""
    pair = Pair(t)
    script = f"""
CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP, UNIQUE KEY k ((CAST(ts AS CHAR(30)))));
{_UTC};
INSERT INTO t VALUES (1, '2020-01-01 10:00:00'), (2, '2020-01-01 11:00:00');
{_TOKYO};
INSERT INTO t VALUES (3, '2020-01-01 10:00:00');
INSERT INTO t VALUES (3, '2020-01-01 10:00:00') ON DUPLICATE KEY UPDATE ts = '2020-05-05'
"""
    for statement in script.strip().split(";\n"):
        pair.both(statement)
    for statement in ("REPLACE INTO t VALUES (4, '2020-01-01 11:00:00')",
                      "INSERT INTO t VALUES (5, '2020-01-01 10:00:00')",
                      "UPDATE t SET ts = ts + INTERVAL 1 HOUR ORDER BY id", _UTC,
                      "UPDATE t SET id = id + 10, ts = ts - INTERVAL 1 HOUR ORDER BY id"):
        t.equal(pair.ours.outcome(statement)[0], "done", statement)
    t.equal(pair.ours.outcome("SELECT * FROM t ORDER BY id")[3],
            [(11, "2020-05-04 15:00:00"), (14, "2020-01-01 02:00:00"), (15, "2020-01-01 01:00:00")])
    _whole(t, pair.ours, "t")
    pair.drop()


@needs_foreign_keys
def test_foreign_keys(t):
    for action in ("CASCADE", "SET NULL"):
        _same(t, ["p", "c", "d"], f"""
CREATE TABLE p (id INT PRIMARY KEY, ts TIMESTAMP, KEY k ((HOUR(ts))));
CREATE TABLE c (id INT PRIMARY KEY, p INT, ts TIMESTAMP, KEY k ((HOUR(ts))),
 FOREIGN KEY (p) REFERENCES p (id) ON DELETE {action} ON UPDATE {action});
CREATE TABLE d (id INT PRIMARY KEY, p INT, ts TIMESTAMP, v INT AS (HOUR(ts) + IFNULL(p, 50)),
 KEY k (v), FOREIGN KEY (p) REFERENCES p (id) ON DELETE {action} ON UPDATE {action});
{_UTC};
INSERT INTO p VALUES {_STAMPS}, (4, '2020-03-03 22:00:00');
INSERT INTO c SELECT id, id, ts FROM p;
INSERT INTO c SELECT id + 10, id, ts FROM p;
INSERT INTO d (id, p, ts) SELECT id, id, ts FROM p;
{_TOKYO};
DELETE FROM p WHERE id = 1;
UPDATE p SET id = id + 100 WHERE id = 2;
BEGIN;
DELETE FROM p;
ROLLBACK;
SET time_zone = '+05:00';
REPLACE INTO p VALUES (3, NULL);
DELETE FROM p;
""")


def test_partitions(t):
    _same(t, ["t"], f"""
CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP, KEY k ((DATE(ts)))) PARTITION BY RANGE (id)
 (PARTITION a VALUES LESS THAN (3), PARTITION b VALUES LESS THAN (50), PARTITION c VALUES LESS
 THAN MAXVALUE);
{_UTC};
INSERT INTO t VALUES {_STAMPS}, (4, '2020-03-03 22:00:00'), (60, '2020-03-03 22:00:00');
{_TOKYO};
UPDATE t SET id = id + 48, ts = ts + INTERVAL 1 DAY WHERE id < 5;
UPDATE t SET ts = ts + INTERVAL 1 DAY;
SET time_zone = '-09:00';
UPDATE t SET id = id - 48 WHERE id < 60;
DELETE FROM t WHERE id > 2;
ALTER TABLE t REORGANIZE PARTITION a, b INTO (PARTITION ab VALUES LESS THAN (50));
{_TOKYO};
DELETE FROM t;
""")


def test_arrays(t):
    pair = Pair(t)
    for unique in ("", "UNIQUE "):
        for statement in (
                "CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP, j JSON, " + unique +
                "KEY k ((CAST(JSON_ARRAY(DATE(ts), j->>'$') AS CHAR(30) ARRAY))))",
                _UTC, "INSERT INTO t VALUES (1, '2020-01-01 20:00:00', '\"a\"'),"
                " (2, '2020-02-01 20:00:00', '\"b\"'), (3, '2020-03-01 20:00:00', '\"c\"')",
                _TOKYO, "UPDATE t SET j = '\"d\"' WHERE id = 1",
                "UPDATE t SET ts = ts + INTERVAL 1 DAY WHERE id < 3",
                "UPDATE t SET ts = ts - INTERVAL 9 HOUR WHERE id < 3", "DELETE FROM t WHERE id = 2",
                "BEGIN", _UTC, "DELETE FROM t", "ROLLBACK", "UPDATE t SET id = id + 5",
                "DELETE FROM t"):
            t.equal(_on_both(t, pair, statement)[0], "done", statement)
        t.equal(len(pair.ours.outcome("CHECK TABLE t")[3]), 1)
        _on_both(t, pair, "DROP TABLE t")
    pair.drop()


def test_arrays_of_other_sizes(t):
    """Of the values that a row has had, some may be left where there are fewer under the settings
    of the session that changes it: never for damage, and an insert finds them without failing."""
    row = "INSERT INTO t VALUES (1, '2020-01-01 20:00:00')"
    t.run("CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP,"
          " KEY k ((CAST(JSON_ARRAY(DATE(ts), '2020-01-02') AS CHAR(30) ARRAY))))", _UTC, row,
          _TOKYO, "UPDATE t SET ts = ts - INTERVAL 1 DAY", "BEGIN", "DELETE FROM t", "ROLLBACK",
          "DELETE FROM t")
    t.rows("CHECK TABLE t", [(f"{t.database}.t", "check", "status", "OK")])
    t.run(_UTC, row, _TOKYO, "DELETE FROM t", _UTC)
    status = t.run("CHECK TABLE t")
    t.true("other settings" in status[0][3] and status[1][3] == "OK", status)
    t.run("BEGIN", row, "ROLLBACK", row, "UPDATE t SET ts = '2021-01-01'")
    t.run("ALTER TABLE t FORCE")
    t.rows("CHECK TABLE t", [(f"{t.database}.t", "check", "status", "OK")])


def test_reads_give_what_is_stored(t):
    """At each isolation level, from the index alone and by its order, also of temporary tables. The
    server compares conditions with what it computes itself of a row."""
    for kind in ("", "TEMPORARY "):
        t.run(f"CREATE {kind}TABLE t (id INT PRIMARY KEY, ts TIMESTAMP,"
              " v CHAR(16) AS (DATE_FORMAT(ts, '%Y-%m-%d %H:%i')), n INT, KEY k (v))"
              f" ENGINE={t.engine}", _UTC, "INSERT INTO t (id, ts) VALUES (1, '2020-01-01"
              " 20:00:00')", _TOKYO)
        for level in ("READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"):
            t.run(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
            t.rows("SELECT v FROM t FORCE INDEX (k)", [("2020-01-01 20:00",)])
            t.rows("SELECT id FROM t FORCE INDEX (k) WHERE v = '2020-01-01 20:00'", [(1,)])
            t.rows("SELECT n FROM t FORCE INDEX (k) ORDER BY v", [(None,)])
            t.rows("SELECT n FROM t FORCE INDEX (k) WHERE v = '2020-01-01 20:00'", [])
            t.rows("SELECT v FROM t IGNORE INDEX (k)", [("2020-01-02 05:00",)])
            t.run("BEGIN", "UPDATE t FORCE INDEX (k) SET ts = ts + INTERVAL 1 DAY ORDER BY v"
                           " LIMIT 1")
            t.rows("SELECT v FROM t FORCE INDEX (k) ORDER BY v", [("2020-01-03 05:00",)])
            t.run("ROLLBACK")
        t.run("UPDATE t SET ts = ts + INTERVAL 1 DAY")
        t.rows("SELECT v FROM t FORCE INDEX (k)", [("2020-01-03 05:00",)])
        t.run("DELETE FROM t", f"DROP {kind}TABLE t")


def test_check_table_tells_settings_from_damage(t):
    t.run("CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP, b INT, KEY b (b), KEY k ((DATE(ts))),"
          " KEY a ((CAST(JSON_ARRAY(CAST(ts AS CHAR(30)), id) AS CHAR(40) ARRAY))))", _UTC,
          f"INSERT INTO t (id, ts) VALUES {_STAMPS}")
    t.equal(len(t.run("CHECK TABLE t")), 1)
    rows = t.run(_TOKYO, "CHECK TABLE t")
    t.equal([row[2] for row in rows], ["Warning", "Warning", "status"], rows)
    for index, row in zip("ka", rows):
        t.true(f"index '{index}'" in row[3] and "time_zone" in row[3] and "FORCE" in row[3], rows)
    t.equal(rows[-1][3], "OK")
    t.run("ALTER TABLE t FORCE")
    t.equal(len(t.run("CHECK TABLE t")), 1)
    t.equal(len(t.run(_UTC, "CHECK TABLE t")), 3)


def test_indexes_are_built_beside_such_changes(t):
    """Old and new indexes, in place, while sessions with other settings change the rows."""
    t.run("CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP, n INT, KEY k ((DATE(ts))))", _UTC,
          "INSERT INTO t (id, ts) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
          " WHERE i < 900) SELECT i, '2020-01-01 20:00:00' + INTERVAL i HOUR FROM n")
    stop = threading.Event()
    done = [0, 0]

    def change(number):
        client, turn = t.client(), 0
        while not stop.is_set():
            turn += 1
            client.execute(f"SET time_zone = '{'+-'[turn % 2]}0{turn % 9}:00'")
            row = 1 + (turn * 37 + number) % 900
            for statement in (f"UPDATE t SET ts = ts + INTERVAL 5 HOUR WHERE id = {row}",
                              f"DELETE FROM t WHERE id = {row + 1}",
                              f"INSERT INTO t (id, ts) VALUES ({row + 1}, NOW())",
                              f"UPDATE t SET id = id + 2000 WHERE id = {row + 2}",
                              f"UPDATE t SET id = id - 2000 WHERE id = {row + 2002}"):
                try:
                    client.execute(statement)
                except MysqlError as error:
                    if error.code not in (1062, 1213):
                        raise
            done[number] += 1

    def alter():
        try:
            client = t.client()
            for turn in range(6):
                client.execute(f"SET time_zone = '+0{turn}:30'")
                client.execute("ALTER TABLE t ADD KEY h ((HOUR(ts))), ADD KEY c ((CAST(ts AS"
                               " CHAR(30)))), ALGORITHM = INPLACE, LOCK = NONE")
                client.execute("ALTER TABLE t DROP KEY h, DROP KEY c, ALGORITHM = INPLACE")
                client.execute("ALTER TABLE t FORCE, ALGORITHM = INPLACE")
                seen = list(done)
                t.wait_for(lambda: all(now > then + 3 for now, then in zip(done, seen)), "changes")
        finally:
            stop.set()
    t.threads([alter, lambda: change(0), lambda: change(1)])
    _not_damaged(t, t.run("ALTER TABLE t ADD KEY h ((HOUR(ts)))", _TOKYO, "CHECK TABLE t"))
    t.run("DELETE FROM t")
    t.rows("SELECT COUNT(*) FROM t FORCE INDEX (k)", [(0,)])
    t.rows("SELECT COUNT(*) FROM t FORCE INDEX (h)", [(0,)])


def test_many_rows_read_the_index_few_times(t):
    """Also of an index with many values, in another order than the rows."""
    if t.engine != "ROWAN":
        t.skip("counts reads of pages by Rowan's own status")
    rows = 20000
    t.run(f"SET cte_max_recursion_depth = {rows}", "CREATE TABLE t (id INT PRIMARY KEY, c CHAR(20),"
          " KEY k ((CONCAT(c, 'x'))))", _PLAIN,
          "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE"
          f" i < {rows}) SELECT i, LEFT(SHA2(i, 256), 12) FROM n", _PAD)
    t.run("UPDATE t SET c = CONCAT('a', c) WHERE id % 2 = 0", "DELETE FROM t WHERE id % 3 = 0")
    t.rows("SELECT COUNT(*) FROM t FORCE INDEX (k)", [(rows - rows // 3,)])
    t.rows("SELECT COUNT(*) FROM t IGNORE INDEX (k)", [(rows - rows // 3,)])
    _not_damaged(t, t.run("CHECK TABLE t"))


def test_kill_and_crash(t):
    server = t.new_server(FAST)
    server.start()
    client = t.client(server)
    for statement in (
            "CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP, KEY k ((CAST(ts AS CHAR(30)))),"
            " KEY h ((HOUR(ts))))", "CREATE TABLE o (id INT)", _UTC,
            "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE"
            " i < 900) SELECT i, '2020-01-01' + INTERVAL i * 7 MINUTE FROM n", _TOKYO):
        client.execute(statement)
    expected = client.query("SELECT * FROM t ORDER BY id")
    client.execute("XA START 'a'")
    client.execute("UPDATE t SET ts = ts + INTERVAL 1 DAY WHERE id <= 300")
    client.execute("XA END 'a'")
    client.execute("XA PREPARE 'a'")
    client = t.client(server)
    client.execute(_TOKYO)
    client.execute("BEGIN")
    client.execute("UPDATE t SET ts = ts + INTERVAL 1 DAY WHERE id BETWEEN 301 AND 600")
    client.execute("DELETE FROM t WHERE id > 600")
    t.client(server).execute("INSERT INTO o VALUES (1)")
    server.kill()
    server.start()
    client = t.client(server)
    client.execute("XA ROLLBACK 'a'")
    client.execute(_TOKYO)
    t.equal(client.query("SELECT * FROM t ORDER BY id"), expected, "rows")
    for key in "kh":
        t.equal(client.query(f"SELECT COUNT(*) FROM t FORCE INDEX ({key})"), [(900,)], key)
    _not_damaged(t, client.query("CHECK TABLE t"))
    client.execute("DELETE FROM t")
    for key in "kh":
        t.equal(client.query(f"SELECT COUNT(*) FROM t FORCE INDEX ({key})"), [(0,)], key)
    t.equal(len(client.query("CHECK TABLE t")), 1)


_SETTINGS = (_PLAIN, _PAD, _UTC, _TOKYO, "SET time_zone = '-05:30'",
             *(f"SET lc_time_names = '{name}'" for name in ("en_US", "de_DE", "ru_RU")))
_KEYS = {
    "k": "KEY k (v)", "h": "KEY h ((HOUR(ts)))", "m": "KEY m ((DATE_FORMAT(d, '%M')), n)",
    "p": "KEY p ((CONCAT(c, 'x')))", "x": "KEY x (n, (DATE(ts)), id)",
    "a": "KEY a ((CAST(JSON_ARRAY(DATE(IFNULL(ts, '2020-01-01')), IFNULL(n, 0)) AS CHAR(30)"
         " ARRAY)))"}


def _random_change(random):
    def row():
        return (f"({random.randrange(50)}, '2020-01-01' + INTERVAL {random.randrange(9999)} MINUTE,"
                f" '2020-{random.randrange(1, 13)}-05', '{random.choice('abcde')}',"
                f" {random.randrange(5)})")
    columns = "r (id, ts, d, c, n)"
    change = random.choice(("ts = ts + INTERVAL 9 HOUR", "ts = ts - INTERVAL 1 DAY", "ts = NULL",
                            "d = d + INTERVAL 30 DAY", "c = CONCAT(c, 'q')", "c = LEFT(c, 2)",
                            "n = n + 1", "ts = NOW(), c = 'z', d = NULL", "id = id + 50"))
    where = random.choice((f"id = {random.randrange(60)}", f"id % 7 = {random.randrange(7)}",
                           f"n = {random.randrange(5)}", f"id > {random.randrange(99)}"))
    return random.choice((
        f"INSERT INTO {columns} VALUES {row()}, {row()}",
        f"INSERT INTO {columns} VALUES {row()}, {row()}, {row()}",
        f"INSERT IGNORE INTO {columns} VALUES {row()}, {row()}, {row()}",
        f"REPLACE INTO {columns} VALUES {row()}, {row()}",
        f"INSERT INTO {columns} VALUES {row()}, {row()} ON DUPLICATE KEY UPDATE {change}",
        f"UPDATE r SET {change} WHERE {where} ORDER BY id DESC",
        f"UPDATE IGNORE r SET {change} WHERE {where} ORDER BY id",
        f"UPDATE r JOIN r AS o USING (id) SET r.ts = o.ts + INTERVAL 1 HOUR WHERE o.{where}",
        f"DELETE FROM r WHERE {where} ORDER BY id LIMIT 5", "BEGIN", "COMMIT", "ROLLBACK",
        "SAVEPOINT s", "ROLLBACK TO s"))


def test_random_changes(t):
    """Beside InnoDB without these indexes, in which it would leave entries behind. Old snapshots
    go on reading each row once."""
    pair = Pair(t)
    table = ("CREATE TABLE r (id INT PRIMARY KEY, ts TIMESTAMP NULL, d DATE, c CHAR(12), n INT,"
             " v CHAR(30) AS (CAST(ts AS CHAR(30))){})")
    pair.ours.outcome(table.format("".join(f", {key}" for key in _KEYS.values())))
    pair.theirs.outcome(table.format(""))
    _whole_by_each(t, pair.ours)
    old, seen = t.client(database=f"{t.database}_a"), None
    for turn in range(8000 if t.long else 1000):
        pair.both(t.random.choice(_SETTINGS))
        pair.both(_random_change(t.random))
        if turn % 50 == 0:
            pair.both("SELECT * FROM r ORDER BY id")
            pair.both("COMMIT")  # as CHECK TABLE does
            _whole_by_each(t, pair.ours)
            t.equal(_ids_by_each(old), seen if seen is not None else _ids_by_each(old))
            old.execute("COMMIT")
            old.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            seen = _ids_by_each(old)
            t.equal(len(set(map(str, seen))), 1, seen)
    old.execute("COMMIT")
    pair.both("COMMIT")
    _whole_by_each(t, pair.ours)
    pair.both("DELETE FROM r")
    _whole_by_each(t, pair.ours)
    t.equal(len(pair.ours.outcome("CHECK TABLE r")[3]), 1)
    pair.drop()


def _ids_by_each(client):
    return [client.query(f"SELECT id FROM r FORCE INDEX ({key}) ORDER BY id")
            for key in _KEYS if key != "a"] + [client.query("SELECT id FROM r ORDER BY id")]


def _whole_by_each(t, ours):
    for key in _KEYS:
        if key != "a":
            t.equal(ours.outcome(f"SELECT COUNT(*) FROM r FORCE INDEX ({key})")[3],
                    ours.outcome("SELECT COUNT(*) FROM r FORCE INDEX (PRIMARY)")[3], key)
    _not_damaged(t, ours.outcome("CHECK TABLE r")[3])


def test_a_killed_statement_changes_nothing(t):
    t.run("SET cte_max_recursion_depth = 9000", "CREATE TABLE t (id INT PRIMARY KEY, c CHAR(20),"
          " KEY k ((CONCAT(c, 'x'))))", _PLAIN, "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1"
          " UNION ALL SELECT i + 1 FROM n WHERE i < 9000) SELECT i, REVERSE(i) FROM n")
    client, other = t.client(), t.client()
    client.execute(_PAD)
    number = client.value("SELECT CONNECTION_ID()")
    failed = []
    for _ in range(10):
        failed += t.amid(client, ("BEGIN", "DELETE FROM t", "ROLLBACK"), 0.1,
                         lambda: other.execute(f"KILL QUERY {number}"))
        t.rows("SELECT COUNT(*) FROM t FORCE INDEX (k)", [(9000,)])
        if failed:
            break
    t.true(all(error.code == 1317 for error in failed), failed)
    t.check_table("t")


def test_old_snapshots_see_each_row_once(t):
    t.run("CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP, KEY k ((HOUR(ts))))", _UTC,
          f"INSERT INTO t VALUES {_STAMPS}")
    old = t.client()
    old.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    reads = ("SELECT COUNT(*) FROM t FORCE INDEX (k)",
             "SELECT id FROM t FORCE INDEX (k) WHERE HOUR(ts) >= 0 ORDER BY id",
             "SELECT HOUR(ts) FROM t FORCE INDEX (k) WHERE HOUR(ts) = 20")
    before = [old.query(read) for read in reads]
    t.run(_TOKYO, "UPDATE t SET ts = ts + INTERVAL 1 HOUR", "UPDATE t SET id = id + 10",
          "DELETE FROM t WHERE id = 12", "INSERT INTO t VALUES (1, '2020-01-01 20:00:00')")
    t.equal([old.query(read) for read in reads], before)


def test_error_log_tells_once(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's messages")
    t.run("CREATE TABLE told (id INT PRIMARY KEY, ts TIMESTAMP, KEY k ((DATE(ts))))", _UTC,
          f"INSERT INTO told VALUES {_STAMPS}", _TOKYO, "DELETE FROM told")
    lines = [line for line in t.server.messages().splitlines() if "/told'" in line]
    t.equal(len(lines), 1, lines)
    t.true("Index 'k'" in lines[0] and "time_zone" in lines[0], lines)
    t.true("damaged" not in t.server.messages(), "an intact table is called damaged")
