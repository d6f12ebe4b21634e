# SPDX-License-Identifier: GPL-2.0-only
"""ALTER TABLE without a copy: what is instant, what is in place and what is refused; indexes that
are built while others write; all of it or nothing when the server dies."""
import itertools
import os
import threading

from framework import MysqlError

_NOT_SUPPORTED = (1845, 1846)
_TABLE = ("CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, k INT, v VARCHAR(20),"
          " e ENUM('x','y'), KEY k (k), KEY v (v(5)), UNIQUE KEY kv (k, v))")
_INDEXES = ("SELECT COUNT(DISTINCT INDEX_NAME) FROM information_schema.STATISTICS WHERE"
            " TABLE_SCHEMA = DATABASE()")


def _fill(t, rows=400):
    t.run(_TABLE,
          "INSERT INTO a (k, v, e) VALUES (1, 'v1', 'x'), (2, NULL, 'y'), (NULL, 'V3', NULL)")
    t.run("SET SESSION cte_max_recursion_depth = 100000",
          "INSERT INTO a (k, v, e) WITH RECURSIVE n (i) AS (SELECT 4 UNION ALL SELECT i + 1 FROM n"
          f" WHERE i < {rows}) SELECT i * 7 % 101, CONCAT('v', i), 'y' FROM n")


def _file(t):
    """The files of tables: a copy makes another one."""
    return sorted(name for name in os.listdir(t.server.data / "rowan") if name.endswith(".rws"))


def _restart(t):
    t.server.restart()
    t._first = t.client()


_INSTANT = (
    "RENAME COLUMN v TO w", "RENAME COLUMN w TO v", "RENAME INDEX v TO w", "RENAME INDEX w TO v",
    "ALTER INDEX k INVISIBLE", "ALTER INDEX k VISIBLE", "ALTER COLUMN k SET DEFAULT 9",
    "ALTER COLUMN k DROP DEFAULT", "MODIFY k INT COMMENT 'c'", "COMMENT 'table'",
    "MODIFY e ENUM('x','y','z')", "MODIFY v VARCHAR(50)", "MODIFY v VARCHAR(300)",
    "ALTER COLUMN e SET INVISIBLE", "ALTER COLUMN e SET VISIBLE", "AUTO_INCREMENT = 5000",
    "STATS_PERSISTENT = 0", "DEFAULT CHARSET = latin1",
    "ADD CONSTRAINT c CHECK (k < 1000) NOT ENFORCED", "DROP CHECK c",
    "RENAME COLUMN k TO kk, RENAME TO b", "RENAME TO a, RENAME COLUMN kk TO k")


def test_a_column_that_becomes_generated_is_computed(t):
    t.run("CREATE TABLE g (id INT PRIMARY KEY, v INT, KEY v (v))", "INSERT INTO g VALUES (1, 3)",
          "INSERT INTO g VALUES (2, NULL)")
    t.error("ALTER TABLE g MODIFY v INT AS (id + 2) STORED, ALGORITHM=INSTANT", _NOT_SUPPORTED)
    t.error("ALTER TABLE g MODIFY v INT AS (id + 2) STORED, ALGORITHM=INPLACE", _NOT_SUPPORTED)
    t.run("ALTER TABLE g MODIFY v INT AS (id + 2) STORED")
    t.rows("SELECT id, v FROM g ORDER BY id", [(1, 3), (2, 4)])
    t.rows("SELECT v FROM g FORCE INDEX (v) ORDER BY v", [(3,), (4,)])
    t.run("ALTER TABLE g MODIFY v INT")
    t.rows("SELECT id, v FROM g ORDER BY id", [(1, 3), (2, 4)])
    t.check_table("g")


def test_instant(t):
    if t.engine != "ROWAN":
        t.skip("InnoDB does less at once")
    _fill(t)
    before, table = _file(t), "a"
    rows = t.run("SELECT id, k, v, e + 0 FROM a ORDER BY id")
    for change in _INSTANT:
        try:
            t.run(f"ALTER TABLE {table} {change}, ALGORITHM=INSTANT")
        except MysqlError as error:
            t.true(False, f"{change}: {error}")
        table = "b" if change.endswith("TO b") else "a" if "TO a" in change else table
    t.equal(_file(t), before, "the table's file")
    t.rows("SELECT id, k, v, e + 0 FROM a ORDER BY id", rows)
    t.run("INSERT INTO a (k, v, e) VALUES (7, REPEAT('w', 280), 'z')")
    t.rows("SELECT id, LENGTH(v), e FROM a FORCE INDEX (kv) WHERE k = 7 AND v LIKE 'www%'",
           [(5000, 280, "z")])
    t.check_table("a")
    shown = t.run("SHOW CREATE TABLE a")
    _restart(t)
    t.rows("SHOW CREATE TABLE a", shown)
    t.rows("SELECT id, k, v, e + 0 FROM a WHERE id < 5000 ORDER BY id", rows)
    t.check_table("a")


_COLUMNS = (
    "ADD COLUMN c1 INT NOT NULL DEFAULT 7", "ADD COLUMN c2 VARCHAR(30) DEFAULT 'abc', ADD n2 INT",
    "ADD COLUMN c3 TEXT", "ADD COLUMN c4 DECIMAL(10,3) DEFAULT 1.5, ADD b4 BIT(3) DEFAULT b'101'",
    "ADD COLUMN c5 CHAR(5) NOT NULL, ADD e5 ENUM('a','b') NOT NULL, ADD d5 DATE DEFAULT '2001-2-3'",
    "ALTER COLUMN c1 SET DEFAULT 8, ALTER COLUMN c2 DROP DEFAULT", "MODIFY c2 VARCHAR(400)",
    "ADD COLUMN c6 BLOB NOT NULL, ADD c7 JSON, ADD c8 DOUBLE DEFAULT -0.0, ADD c9 INT, ADD c10 INT",
    "RENAME COLUMN c3 TO cc3")


def test_columns_are_added_at_once(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's rows")
    t.run("CREATE TABLE a (id INT, s VARCHAR(20) CHARACTER SET latin1, x INT, t TEXT,"
          " b VARBINARY(3000), PRIMARY KEY (id), KEY (x))",
          "INSERT INTO a VALUES (1, 'one', 1, REPEAT('t', 30000), REPEAT('b', 3000)),"
          " (2, NULL, NULL, NULL, NULL), (3, 'three', 3, 'short', ''), (4, '', 4, NULL, 'b')",
          "CREATE TABLE twin LIKE a", "INSERT INTO twin SELECT * FROM a")
    t.run("SET SESSION sql_mode = ''")
    before = _file(t)
    for turn, change in enumerate(_COLUMNS):
        for table, algorithm in (("a", "INSTANT"), ("twin", "COPY")):
            # A row in the form of each time, changed in a later one, and some that stay.
            t.run(f"ALTER TABLE {table} {change}, ALGORITHM={algorithm}",
                  f"INSERT INTO {table} (id, s, x, t) VALUES ({turn + 10}, 'n', {turn},"
                  f" REPEAT('l', {turn} * 4000))",
                  f"UPDATE {table} SET x = x + 1 WHERE id IN (4, {turn + 8})")
        t.rows("SELECT * FROM a ORDER BY id", t.run("SELECT * FROM twin ORDER BY id"))
    t.run("ALTER TABLE a ADD INDEX c2 (c2, c1), ADD COLUMN c11 TINYINT DEFAULT -1, LOCK=NONE",
          "ALTER TABLE twin ADD COLUMN c11 TINYINT DEFAULT -1, ALGORITHM=COPY")
    stayed = [name for name in _file(t) if name in before]
    t.equal(len(stayed), len(before) - 1, "files that stayed: all but the twin's")
    t.rows("SELECT id FROM a FORCE INDEX (c2) WHERE c2 = 'abc' AND c1 = 7 ORDER BY id",
           t.run("SELECT id FROM twin WHERE c2 = 'abc' AND c1 = 7 ORDER BY id"))
    t.check_table("a")
    _restart(t)
    t.rows("SELECT * FROM a ORDER BY id", t.run("SELECT * FROM twin ORDER BY id"))
    t.equal(t.run("CHECKSUM TABLE a")[0][1], t.run("CHECKSUM TABLE twin")[0][1], "checksums")
    t.run("ALTER TABLE a ADD COLUMN u INT UNIQUE, ADD COLUMN at DATETIME DEFAULT CURRENT_TIMESTAMP,"
          " ALGORITHM=INPLACE, LOCK=NONE", "DELETE FROM a WHERE id = 2",
          "UPDATE a SET u = id, t = CONCAT(t, 'more'), c9 = NULL")
    t.equal(t.value("SELECT COUNT(*) FROM a FORCE INDEX (u) WHERE u > 0 AND at > '2020-01-01'"),
            t.value("SELECT COUNT(*) FROM a"), "rows by the new index")
    t.check_table("a")
    t.error("ALTER TABLE a ADD COLUMN v INT NOT NULL DEFAULT 1 UNIQUE, ALGORITHM=INPLACE", 1062)
    for change in ("ADD COLUMN y INT DEFAULT (1)", "ADD COLUMN y INT AS (x + 1) STORED",
                   "MODIFY s VARCHAR(20) CHARACTER SET latin1 FIRST", "DROP COLUMN x",
                   "ADD COLUMN y INT NOT NULL AUTO_INCREMENT UNIQUE"):
        t.error(f"ALTER TABLE a {change}, ALGORITHM=INSTANT", _NOT_SUPPORTED)
    t.run("ALTER TABLE a DROP COLUMN c9, ALGORITHM=COPY")
    t.check_table("a")


def test_columns_are_added_127_times(t):
    if t.engine != "ROWAN" or not t.long:
        t.skip("a limit of Rowan's, in long runs")
    t.run("CREATE TABLE m (id INT PRIMARY KEY)", "INSERT INTO m VALUES (1)")
    for number in range(127):
        t.run(f"ALTER TABLE m ADD COLUMN c{number} INT DEFAULT {number}, ALGORITHM=INSTANT")
    t.error("ALTER TABLE m ADD COLUMN d INT, ALGORITHM=INSTANT", _NOT_SUPPORTED)
    t.rows("SELECT c0, c64, c126 FROM m", [(0, 64, 126)])
    t.run("ALTER TABLE m ADD COLUMN d INT", "ALTER TABLE m ADD COLUMN e INT, ALGORITHM=INSTANT")
    t.rows("SELECT c0, c126, d, e FROM m", [(0, 126, None, None)])
    t.check_table("m")


def test_indexes_in_place(t):
    _fill(t)
    before = _file(t) if t.engine == "ROWAN" else None
    t.run("ALTER TABLE a ADD INDEX e (e, k DESC), ADD UNIQUE INDEX u (v, id), DROP INDEX k,"
          " ADD INDEX p (v(2)), ALGORITHM=INPLACE, LOCK=NONE",
          "ALTER TABLE a DROP INDEX kv, ADD INDEX kv (v, k), ALGORITHM=INPLACE",
          "CREATE INDEX ek ON a (e) ALGORITHM=INPLACE LOCK=SHARED", "DROP INDEX ek ON a")
    if before:
        t.equal(_file(t), before, "the table's file")
    count = t.value("SELECT COUNT(*) FROM a")
    for index in ("e", "u", "p", "kv", "v"):
        t.rows(f"SELECT COUNT(*), SUM(k) FROM a FORCE INDEX ({index})"
               " WHERE v IS NULL OR v >= '' OR e IS NULL",
               t.run("SELECT COUNT(*), SUM(k) FROM a IGNORE INDEX (e, u, p, kv, v)"))
    t.rows("SELECT COUNT(*) FROM a FORCE INDEX (u) WHERE v = 'v77'", [(1,)])
    t.run("UPDATE a SET k = k + 1, v = CONCAT(v, 'z') WHERE id % 3 = 0",
          "DELETE FROM a WHERE id = 9")
    t.check_table("a")
    _restart(t)
    t.rows("SELECT COUNT(*) FROM a FORCE INDEX (p) WHERE v LIKE 'v%' OR v IS NULL", [(count - 1,)])
    t.check_table("a")


def test_index_on_a_table_without_primary_key(t):
    t.run("CREATE TABLE n (k INT, c TEXT)",
          "INSERT INTO n VALUES (3, REPEAT('c', 20000)), (1, 'a'), (1, 'a'), (2, NULL)",
          "ALTER TABLE n ADD INDEX c (c(10), k), ADD INDEX k (k), ALGORITHM=INPLACE, LOCK=NONE")
    t.rows("SELECT k FROM n FORCE INDEX (c) WHERE c LIKE 'c%'", [(3,)])
    t.rows("SELECT k, LENGTH(c) FROM n FORCE INDEX (k) ORDER BY k",
           [(1, 1), (1, 1), (2, None), (3, 20000)])
    t.check_table("n")


def test_duplicates_leave_the_table_as_it_was(t):
    _fill(t)
    t.run("INSERT INTO a (k, v) VALUES (500, 'twice'), (501, 'TWICE')")
    shown = t.run("SHOW CREATE TABLE a")
    other = t.client()
    for algorithm in ("INPLACE", "COPY"):
        error = t.error("ALTER TABLE a ADD INDEX e (e), ADD UNIQUE INDEX u (v), ADD INDEX g (k, e),"
                        f" ALGORITHM={algorithm}", 1062)
        t.equal(error.lower(), "duplicate entry 'twice' for key 'a.u'", algorithm)
    t.rows("SHOW CREATE TABLE a", shown)
    other.query("INSERT INTO a (k, v) VALUES (502, 'after')")
    t.check_table("a")  # finds pages that belong to nobody
    t.run("DELETE FROM a WHERE k = 501", "ALTER TABLE a ADD UNIQUE INDEX u (v), ALGORITHM=INPLACE")
    t.error("INSERT INTO a (v) VALUES ('Twice')", 1062)


def test_what_is_refused(t):
    _fill(t, 50)
    everywhere = ("MODIFY k BIGINT", "MODIFY e ENUM('y','x')", "MODIFY v VARCHAR(10)",
                  "DROP PRIMARY KEY, MODIFY id INT", "CONVERT TO CHARACTER SET latin1")
    for change, lock in itertools.product(everywhere, ("ALGORITHM=INSTANT", "ALGORITHM=INPLACE",
                                                       "LOCK=NONE")):
        t.error(f"ALTER TABLE a {change}, {lock}", _NOT_SUPPORTED)
    for change in ("ADD INDEX e (e)", "DROP INDEX k", "FORCE", "ENGINE=" + t.engine,
                   "DROP PRIMARY KEY, ADD PRIMARY KEY (id, k)", "MODIFY k INT NOT NULL"):
        t.error(f"ALTER TABLE a {change}, ALGORITHM=INSTANT", _NOT_SUPPORTED)
    t.error("ALTER TABLE a COMMENT 'x', ALGORITHM=INSTANT, LOCK=NONE", 1221)
    t.error("ALTER TABLE a COMMENT 'x', ALGORITHM=COPY, LOCK=NONE", _NOT_SUPPORTED)
    t.run("ALTER TABLE a ADD INDEX e (e), ALGORITHM=COPY, LOCK=SHARED",
          "ALTER TABLE a DROP INDEX e, LOCK=EXCLUSIVE")
    t.check_table("a")


def test_columns_whose_default_no_row_may_have(t):
    """The server lets them come to empty tables only."""
    old, client = t.client(), t.client()
    client.query("SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'")
    for partitions in ("", " PARTITION BY HASH (id) PARTITIONS 2"):
        client.query("CREATE TABLE e (id INT PRIMARY KEY)" + partitions)
        client.query("INSERT INTO e VALUES (1)")
        old.query("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        t.error("ALTER TABLE e ADD COLUMN d DATETIME NOT NULL, ALGORITHM=INPLACE", 1292, client)
        client.query("DELETE FROM e")
        t.error("ALTER TABLE e ADD COLUMN d DATE NOT NULL, ALGORITHM=INSTANT", 1845, client)
        client.query("ALTER TABLE e ADD COLUMN d DATETIME NOT NULL, ALGORITHM=INPLACE")
        t.error("SELECT * FROM e", 1412, old)
        old.query("COMMIT")
        client.query("ALTER TABLE e ADD COLUMN f DATE NOT NULL FIRST, ADD KEY (f),"
                     " ALGORITHM=INPLACE")
        client.query("INSERT INTO e VALUES ('2026-01-02', 3, '2026-01-01')")
        client.query("SET SESSION sql_mode = ''")
        client.query("ALTER TABLE e ADD COLUMN z DATE NOT NULL, ALGORITHM=INPLACE")
        t.equal(client.query("SELECT * FROM e FORCE INDEX (f) ORDER BY f"),
                [("2026-01-02", 3, "2026-01-01 00:00:00", "0000-00-00")])
        client.query("SET SESSION sql_mode = DEFAULT")
        t.check_table("e", client=client)
        client.query("DROP TABLE e")
    client.query("CREATE TABLE e (id INT PRIMARY KEY)")
    client.query("ALTER TABLE e ADD COLUMN g POINT NOT NULL SRID 0, ADD SPATIAL KEY (g),"
                 " ALGORITHM=INPLACE")
    client.query("INSERT INTO e VALUES (1, POINT(1, 2))")
    t.equal(client.query("SELECT ST_AsText(g) FROM e"), [("POINT(1 2)",)])
    t.error("ALTER TABLE e ADD COLUMN h POINT NOT NULL, ALGORITHM=INPLACE", 1138, client)
    t.check_table("e", client=client)


def test_an_older_snapshot_does_not_read_a_new_index(t):
    _fill(t, 50)
    old = t.client()
    old.query("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    t.run("UPDATE a SET k = 1000 WHERE id = 1", "ALTER TABLE a ADD INDEX e (e)")
    t.error("SELECT e FROM a FORCE INDEX (e) WHERE e = 'x'", 1412, client=old)
    t.equal(old.query("SELECT k FROM a WHERE id = 1"), [(1,)], "by the primary key")
    old.query("COMMIT")
    t.equal(old.query("SELECT k FROM a FORCE INDEX (e) WHERE e = 'x'"), [(1000,)], "later")


def test_an_older_snapshot_reads_rows_of_its_time_with_new_columns(t):
    if t.engine != "ROWAN":
        t.skip("InnoDB may refuse it")
    _fill(t, 50)
    old = t.client()
    old.query("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    t.run("UPDATE a SET k = 1000 WHERE id = 1", "ALTER TABLE a ADD COLUMN n INT DEFAULT 5",
          "UPDATE a SET k = k + 1, n = 6 WHERE id < 3", "DELETE FROM a WHERE id = 3")
    t.equal(old.query("SELECT id, k, v, n FROM a WHERE id < 4"),
            [(1, 1, "v1", 5), (2, 2, None, 5), (3, None, "V3", 5)], "rows of the old snapshot")
    old.query("COMMIT")
    t.rows("SELECT id, k, n FROM a WHERE id < 5", [(1, 1001, 6), (2, 3, 6), (4, 28, 5)])


def _write(t, stop, number):
    """Rows of its own, changed in transactions some of which roll back."""
    client = t.client()
    turn = 0
    while not stop.is_set():
        turn += 1
        base = 1_000_000 * (number + 1) + turn % 300
        try:
            _write_once(client, number, turn, base)
        except MysqlError as error:
            if error.code != 1213:  # keys that are not there lock gaps, which writers share
                raise
    return turn


def _write_once(client, number, turn, base):
    client.query("BEGIN")
    client.query(f"REPLACE INTO a (id, k, v) VALUES ({base}, {turn}, 'w{turn}-{number}')")
    client.query(f"UPDATE a SET k = k + 1, v = CONCAT('u', {turn}, '-', id)"
                 f" WHERE id = {base - 7}")
    client.query(f"DELETE FROM a WHERE id = {base - 50}")
    client.query(f"UPDATE a SET v = CONCAT(v, 'y') WHERE id BETWEEN {turn * 3 % 400} AND"
                 f" {turn * 3 % 400} + 1 AND {number} = 0")
    client.query("ROLLBACK" if turn % 5 == 0 else "COMMIT")


def test_indexes_are_built_among_writers(t):
    _fill(t, 60000 if t.long else 15000)
    stop, turns = threading.Event(), []
    writers = [threading.Thread(target=lambda n=n: turns.append(_write(t, stop, n)))
               for n in range(3)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(4):
            t.run("ALTER TABLE a ADD INDEX n1 (v, k), ADD UNIQUE INDEX n2 (id, v),"
                  " ADD INDEX n3 (k), ALGORITHM=INPLACE, LOCK=NONE")
            t.check_table("a")
            t.run("ALTER TABLE a DROP INDEX n1, DROP INDEX n2, DROP INDEX n3, LOCK=NONE")
            if t.engine == "ROWAN":  # InnoDB lets nobody write meanwhile
                t.run("ALTER TABLE a ADD INDEX n4 ((k + 1), v), ADD INDEX n5"
                      " ((CAST(JSON_ARRAY(IFNULL(k, 0), k IS NULL) AS SIGNED ARRAY))), LOCK=NONE")
                t.check_table("a")
                t.run("ALTER TABLE a DROP INDEX n4, DROP INDEX n5, LOCK=NONE")
        t.run("ALTER TABLE a ADD INDEX n1 (v, k), LOCK=NONE")
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    t.true(len(turns) == 3 and min(turns) > 10, f"transactions of the writers: {turns}")
    t.check_table("a")


def test_more_changes_than_may_be_noted(t):
    if t.engine != "ROWAN":
        t.skip("about our variable")
    _fill(t, 6000)
    stop = threading.Event()

    def write():
        client = t.client()
        while not stop.is_set():  # each notes more than may be
            client.query("UPDATE a SET e = IF(e = 'x', 'y', 'x')")
    writers = [threading.Thread(target=write) for _ in range(2)]
    t.run("SET GLOBAL rowan_online_alter_log_max_size = 65536")
    for writer in writers:
        writer.start()
    try:
        codes = []
        for change in ("ADD INDEX n1 (v, k)", "FORCE"):
            def fails():
                codes.append(t.client().error_code(f"ALTER TABLE a {change}, ALGORITHM=INPLACE"))
                if codes[-1] == 0 and change != "FORCE":
                    t.run("ALTER TABLE a DROP INDEX n1")
                return codes[-1] != 0
            t.wait_for(fails, f"{change} fails")
            t.equal(codes[-1], 1799, change)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
        t.run("SET GLOBAL rowan_online_alter_log_max_size = DEFAULT")
    t.equal(t.value(_INDEXES), 4, "indexes")
    t.check_table("a")
    t.run("ALTER TABLE a ADD INDEX n1 (v, k), ALGORITHM=INPLACE")


def test_kill_while_an_index_is_built(t):
    _fill(t, 20000)
    worker = t.client()
    number = worker.query("SELECT CONNECTION_ID()")[0][0]
    failed = t.amid(worker, ["ALTER TABLE a ADD INDEX n1 (v, k), ADD INDEX n2 (e, v),"
                             " ADD INDEX n3 (k, e)"], 0.15, lambda: t.run(f"KILL QUERY {number}"))
    t.check_table("a")
    t.equal(t.value(_INDEXES), 4 if failed else 7, "indexes")


def test_kill_9_leaves_the_old_or_the_new_table(t):
    server = t.new_server(binlog=True)
    server.start()
    client = t.client(server)
    client.query(_TABLE)
    client.query("SET SESSION cte_max_recursion_depth = 100000")
    client.query("INSERT INTO a (k, v, e) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1"
                 " FROM n WHERE i < 12000) SELECT i * 7 % 1013, CONCAT('v', i), 'y' FROM n")
    for _ in range(20 if t.long else 3):
        client = t.client(server)
        change = {4: "ADD INDEX n1 (v, k), ADD UNIQUE INDEX n2 (id, v)",
                  6: "DROP INDEX n1, DROP INDEX n2, ADD INDEX n3 (e)",
                  5: "ADD INDEX n1 (v, k), DROP INDEX n3, ADD UNIQUE INDEX n2 (id, v)",
                  }[client.query(_INDEXES)[0][0]]
        t.amid(client, ["ALTER TABLE a " + change], 0.25, server.kill)
        server.start()
        after = t.client(server)
        t.check_table("a", client=after)
        t.equal(after.query("SELECT COUNT(*) FROM a")[0][0], 12000, "rows")
