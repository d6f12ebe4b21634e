# SPDX-License-Identifier: GPL-2.0-only
"""FLUSH TABLES ... FOR EXPORT, DISCARD and IMPORT TABLESPACE: tables that go from one server to
another, files that are none, and what a crash leaves."""
import os
import shutil

from framework import IS_8_4

_COLUMNS = ("(id INT PRIMARY KEY AUTO_INCREMENT, k INT, v VARCHAR(30) COLLATE utf8mb4_0900_ai_ci,"
            " b LONGBLOB, d DATETIME(3), e ENUM('x','y'), f BIT(11), j JSON, g INT AS (k * 2),"
            " s INT AS (k + 1) STORED")
_INDEXES = ", KEY k (k, v), UNIQUE KEY v (v), KEY g (g), FULLTEXT KEY t (v))"
_READ = "SELECT id, k, v, CRC32(b), d, e, f + 0, j, g, s FROM a ORDER BY id"


def _fill(client, rows=300):
    client.query(f"CREATE TABLE a {_COLUMNS}{_INDEXES} ENGINE=ROWAN")
    client.query("SET SESSION cte_max_recursion_depth = 100000")
    client.query("INSERT INTO a (k, v, b, d, e, f, j) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL"
                 f" SELECT i + 1 FROM n WHERE i < {rows}) SELECT NULLIF(i * 7 % 101, 3),"
                 " IF(i % 11, CONCAT('word v', i), NULL), REPEAT(CHAR(65 + i % 26), i % 17 * 3000),"
                 " '2020-02-29 10:00:00.125' + INTERVAL i HOUR, ELT(i % 3, 'x', 'y'), i % 2048,"
                 " JSON_ARRAY(i, REPEAT('j', i % 7 * 900)) FROM n")


def _path(t, server, table="a"):
    folder = t.value("SELECT DATABASE()")
    return server.data / folder / f"{table}.rwx"


def _export(t, target):
    """Copies the file of table a to the target server."""
    t.run("FLUSH TABLES a FOR EXPORT")
    shutil.copy(_path(t, t.server), _path(t, target))
    t.run("UNLOCK TABLES")
    t.true(not _path(t, t.server).exists(), "UNLOCK TABLES removes the file")


def _rowan_only(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's files")


def test_a_table_goes_to_another_server(t):
    _rowan_only(t)
    _fill(t.client())
    t.run("DELETE FROM a WHERE id % 10 = 0", "UPDATE a SET b = 'short' WHERE id % 10 = 1",
          "ALTER TABLE a ADD COLUMN n INT DEFAULT 9 AFTER k, ALGORITHM=INSTANT",
          "ALTER TABLE a DROP COLUMN n, ALGORITHM=INSTANT")
    rows = t.run(_READ)
    target = t.new_server(["--loose-rowan-page-size=8K"])
    target.start()
    other = t.client(target)
    # Other indexes than at the source.
    other.query(f"CREATE TABLE a {_COLUMNS}, KEY d (d DESC, e), KEY ((k + 5)), UNIQUE KEY v (v))"
                " ENGINE=ROWAN")
    other.query("INSERT INTO a (k) VALUES (12345)")
    t.error("ALTER TABLE a IMPORT TABLESPACE", 1813, client=other)
    other.query("ALTER TABLE a DISCARD TABLESPACE")
    t.error("SELECT * FROM a", 1814, client=other)
    t.error("INSERT INTO a (k) VALUES (1)", 1814, client=other)
    t.error("TRUNCATE TABLE a", 1814, client=other)
    t.error("ALTER TABLE a FORCE", 1814, client=other)
    other.query("ALTER TABLE a DISCARD TABLESPACE")
    t.equal(other.query("SHOW WARNINGS")[0][1], 1812, "it is discarded already")
    t.error("ALTER TABLE a IMPORT TABLESPACE", 1812, client=other)
    _export(t, target)
    other.query("ALTER TABLE a IMPORT TABLESPACE")
    t.equal(other.query(_READ), rows, "rows")
    t.equal(other.query("SELECT COUNT(*) FROM a FORCE INDEX (d) WHERE d > '2000-01-01'"),
            [(270,)], "rows by an index that the source did not have")
    t.check_table("a", client=other)
    other.query("INSERT INTO a (k) VALUES (1)")
    t.true(other.query("SELECT MAX(id) FROM a")[0][0] > 300, "AUTO_INCREMENT goes on")
    target.kill()
    target.start()
    other = t.client(target)
    t.equal(other.query(_READ)[:270], rows, "rows after a crash")
    t.check_table("a", client=other)
    t.run("INSERT INTO a (k) VALUES (1)")
    t.check_table("a")


def test_a_discarded_table_stays_so(t):
    _rowan_only(t)
    _fill(t.client(), 10)
    t.run("ALTER TABLE a DISCARD TABLESPACE")
    t.server.restart()
    t._first = t.client()
    t.error("SELECT * FROM a", 1814)
    t.run("RENAME TABLE a TO b")
    t.error("SELECT * FROM b", 1814)
    t.run("DROP TABLE b")


def test_files_that_are_not_the_table(t):
    _rowan_only(t)
    _fill(t.client(), 50)
    path = _path(t, t.server)
    t.run("FLUSH TABLES a FOR EXPORT")
    whole = path.read_bytes()
    t.run("UNLOCK TABLES", "CREATE TABLE original LIKE a", "INSERT INTO original (id, k, v) SELECT"
          " id, k, v FROM a", "ALTER TABLE a DISCARD TABLESPACE")
    middle = bytearray(whole)
    middle[t.random.randrange(len(whole))] ^= 0x10
    for bad in (bytes(middle), whole[:-1], whole + b"x", whole[:100], b"", b"nothing " * 40):
        path.write_bytes(bad)
        t.error("ALTER TABLE a IMPORT TABLESPACE", (1034, 1815, 1877, 126, 145, 1194))
        t.error("SELECT * FROM a", 1814)
    path.write_bytes(whole)
    t.run("ALTER TABLE a IMPORT TABLESPACE")
    t.rows("SELECT id, k, v FROM a ORDER BY id", t.run("SELECT id, k, v FROM original ORDER BY id"))
    for number, (definition, reason) in enumerate((
            ("(id INT PRIMARY KEY, k INT)", "column v varchar(30)"),
            (_COLUMNS.replace("k INT,", "k BIGINT,") + ")", "bigint"),
            (_COLUMNS.replace("k INT,", "k INT NOT NULL,") + ")", "k int NOT NULL"),
            (_COLUMNS.replace("'x','y'", "'x','z'") + ")", "'z'"),
            (_COLUMNS.replace("id INT PRIMARY KEY", "id INT") + ", PRIMARY KEY (id DESC))",
             "DESC"))):
        name = f"other{number}"
        t.run(f"CREATE TABLE {name} {definition}", f"ALTER TABLE {name} DISCARD TABLESPACE")
        _path(t, t.server, name).write_bytes(whole)
        message = t.error(f"ALTER TABLE {name} IMPORT TABLESPACE", 1808)
        t.true(reason in message, f"{definition}: {message}")
    t.run(f"CREATE TABLE twice {_COLUMNS}, UNIQUE KEY e (e))",
          "ALTER TABLE twice DISCARD TABLESPACE")
    _path(t, t.server, "twice").write_bytes(whole)
    error = t.error("ALTER TABLE twice IMPORT TABLESPACE", 1062)
    t.true(error.endswith("for key 'twice.e'"), error)
    t.check_table("a")
    os.unlink(path)


def test_exports_with_and_without_rows_and_keys(t):
    _rowan_only(t)
    t.run("CREATE TABLE a (x INT, y TEXT, KEY (x))", "CREATE TABLE par (id INT PRIMARY KEY)")
    for rows in ("", "(1, 'one'), (NULL, NULL), (1, REPEAT('y', 60000))"):
        if rows:
            t.run(f"INSERT INTO a VALUES {rows}")
        before = t.run("SELECT * FROM a")
        t.run("FLUSH TABLES a FOR EXPORT")
        t.rows("SELECT * FROM a", before)
        whole = _path(t, t.server).read_bytes()
        other = t.client()
        other.query("SET SESSION lock_wait_timeout = 1")
        t.error("INSERT INTO a VALUES (2, 'two')", 1205, client=other)
        t.error("ALTER TABLE a DISCARD TABLESPACE", (1099, 1192))
        t.run("UNLOCK TABLES", "ALTER TABLE a DISCARD TABLESPACE")
        _path(t, t.server).write_bytes(whole)
        t.run("ALTER TABLE a IMPORT TABLESPACE")
        t.rows("SELECT * FROM a", before)
        t.check_table("a")
    t.run("CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY)")
    t.error("ALTER TABLE tmp DISCARD TABLESPACE", 3007)
    if not IS_8_4:
        t.run("CREATE TABLE chi (p INT, FOREIGN KEY (p) REFERENCES par (id))")
        t.error("ALTER TABLE par DISCARD TABLESPACE", 1451)
    t.run("SET foreign_key_checks = 0", "ALTER TABLE par DISCARD TABLESPACE")


_PARTITIONED = ("CREATE TABLE p (id INT AUTO_INCREMENT, v VARCHAR(20), PRIMARY KEY (id), KEY (v))"
                " ENGINE=ROWAN PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 2"
                " (PARTITION low VALUES LESS THAN (100), PARTITION high VALUES LESS THAN MAXVALUE)")
_LOW, _HIGH = ("low#sp#lowsp0", "low#sp#lowsp1"), ("high#sp#highsp0", "high#sp#highsp1")


def _copy_partitions(t, target, names):
    for name in names:
        shutil.copy(_path(t, t.server, f"p#p#{name}"), _path(t, target, f"p#p#{name}"))


def _check_finds_rows_of_another_partition(t, target, other):
    files = [_path(t, target, f"p#p#{name}") for name in (_LOW[0], _HIGH[0])]
    right = files[0].read_bytes()
    files[0].write_bytes(files[1].read_bytes())
    other.query("ALTER TABLE p DISCARD PARTITION lowsp0 TABLESPACE")
    other.query("ALTER TABLE p IMPORT PARTITION lowsp0 TABLESPACE")
    found = other.query("CHECK TABLE p")
    t.true(any(row[2] == "error" for row in found), f"rows of another partition: {found}")
    files[0].write_bytes(right)
    other.query("ALTER TABLE p DISCARD PARTITION lowsp0 TABLESPACE")
    other.query("ALTER TABLE p IMPORT PARTITION lowsp0 TABLESPACE")
    t.check_table("p", client=other)


def test_partitions_go_to_another_server(t):
    _rowan_only(t)
    t.run(_PARTITIONED, "INSERT INTO p VALUES (1, 'one'), (2, 'two'), (101, 'far'), (102, NULL)")
    target = t.new_server([])
    target.start()
    other = t.client(target)
    other.query(_PARTITIONED)
    other.query("INSERT INTO p VALUES (3, 'stays'), (150, 'goes'), (151, 'goes')")
    t.error("ALTER TABLE p IMPORT PARTITION high TABLESPACE", 1813, client=other)
    other.query("ALTER TABLE p DISCARD PARTITION high TABLESPACE")
    t.error("SELECT * FROM p", 1814, client=other)
    t.error("ALTER TABLE p TRUNCATE PARTITION high", 1814, client=other)
    t.error("TRUNCATE TABLE p", 1814, client=other)
    t.equal(other.query("SELECT * FROM p PARTITION (low)"), [(3, "stays")], "the others")
    message = t.error("ALTER TABLE p IMPORT PARTITION high TABLESPACE", 1812, client=other)
    t.true("partition high" in message, message)
    t.run("FLUSH TABLES p FOR EXPORT")
    _copy_partitions(t, target, _LOW + _HIGH)
    t.run("UNLOCK TABLES")
    t.true(not _path(t, t.server, f"p#p#{_LOW[0]}").exists(), "UNLOCK TABLES removes the files")
    target.kill()
    target.start()
    other = t.client(target)
    other.query("ALTER TABLE p IMPORT PARTITION high TABLESPACE")
    rows = other.query("SELECT id, v FROM p ORDER BY id")
    t.equal(rows, [(3, "stays"), (101, "far"), (102, None)], "rows of the partition")
    other.query("ALTER TABLE p DISCARD TABLESPACE")
    other.query("ALTER TABLE p IMPORT TABLESPACE")
    rows = other.query("SELECT id, v FROM p ORDER BY id")
    t.equal(rows, t.run("SELECT id, v FROM p ORDER BY id"), "rows of all partitions")
    t.equal(other.query("SELECT id FROM p WHERE v = 'far'"), [(101,)], "by an index")
    t.check_table("p", client=other)
    _check_finds_rows_of_another_partition(t, target, other)
    other.query("INSERT INTO p (v) VALUES ('next')")
    t.equal(other.query("SELECT id FROM p WHERE v = 'next'"), [(152,)], "AUTO_INCREMENT goes on")
    other.query("DROP TABLE p")
    t.true(not _path(t, target, f"p#p#{_LOW[0]}").exists(), "DROP TABLE takes the files with it")


def test_what_a_discarded_partition_lets_be_done(t):
    """The same with InnoDB: all but its rows."""
    t.run("CREATE TABLE d (id INT PRIMARY KEY, k INT, KEY k (k)) PARTITION BY RANGE (id)"
          " (PARTITION low VALUES LESS THAN (10), PARTITION mid VALUES LESS THAN (20),"
          " PARTITION top VALUES LESS THAN (30))", "INSERT INTO d VALUES (1, 1), (11, 2), (21, 3)",
          "ALTER TABLE d DISCARD PARTITION mid TABLESPACE")
    for change in ("REBUILD PARTITION mid", "REMOVE PARTITIONING", "ADD COLUMN c INT", "FORCE",
                   "DROP COLUMN k", "TRUNCATE PARTITION mid", "PARTITION BY HASH (id) PARTITIONS 2",
                   "MODIFY k BIGINT", "COMMENT 'c', ALGORITHM=COPY", "ADD CHECK (k > 0)",
                   "REORGANIZE PARTITION mid INTO (PARTITION m VALUES LESS THAN (20))"):
        t.error("ALTER TABLE d " + change, 1814)
    t.run("LOCK TABLES d WRITE", "INSERT INTO d VALUES (2, 4)")
    t.error("SELECT COUNT(*) FROM d", 1814)
    t.run("ALTER TABLE d ADD PARTITION (PARTITION last VALUES LESS THAN (40))", "UNLOCK TABLES",
          "LOCK TABLES d READ", "UNLOCK TABLES", "ALTER TABLE d REBUILD PARTITION low",
          "ALTER TABLE d REORGANIZE PARTITION top INTO (PARTITION top1 VALUES LESS THAN (25),"
          " PARTITION top2 VALUES LESS THAN (30))", "ALTER TABLE d COMMENT 'c'",
          "ALTER TABLE d DROP INDEX k, ADD INDEX k2 (k, id)", "ALTER TABLE d ALTER k SET DEFAULT 5",
          "CREATE TRIGGER g BEFORE INSERT ON d FOR EACH ROW SET NEW.k = 1", "DROP TRIGGER g",
          "ALTER TABLE d RENAME COLUMN k TO n", "ALTER TABLE d DISCARD PARTITION mid TABLESPACE")
    t.equal(t.run("SHOW WARNINGS")[-1][1], 1812, "it is discarded already")
    t.run("RENAME TABLE d TO e", "ALTER TABLE e DROP PARTITION mid")
    t.rows("SELECT * FROM e FORCE INDEX (k2) ORDER BY n", [(1, 1), (21, 3), (2, 4)])
    t.check_table("e")


def test_a_discarded_table_that_keeps_its_rows_is_imported(t):
    _rowan_only(t)
    t.run("CREATE TABLE a (id INT PRIMARY KEY, k INT, KEY k (k))",
          "INSERT INTO a VALUES (1, 5), (2, 6)", "FLUSH TABLES a FOR EXPORT")
    exported = _path(t, t.server).read_bytes()
    t.run("UNLOCK TABLES", "ALTER TABLE a DISCARD TABLESPACE",
          "ALTER TABLE a DROP INDEX k, ADD UNIQUE INDEX u (k), COMMENT 'c'")
    _path(t, t.server).write_bytes(exported)
    t.run("ALTER TABLE a IMPORT TABLESPACE")
    t.rows("SELECT id FROM a FORCE INDEX (u) ORDER BY k", [(1,), (2,)])
    t.check_table("a")


def test_under_lock_tables(t):
    _rowan_only(t)
    other = t.client()
    t.run("CREATE TABLE a (id INT PRIMARY KEY)", "INSERT INTO a VALUES (1)",
          "FLUSH TABLES a FOR EXPORT")
    exported = _path(t, t.server).read_bytes()
    t.run("UNLOCK TABLES", "LOCK TABLES a WRITE, a AS b READ", "SELECT * FROM a AS b",
          "ALTER TABLE a DISCARD TABLESPACE")
    for name in ("a", "a AS b"):
        t.error("SELECT * FROM " + name, 1814)
    t.error("ALTER TABLE a IMPORT TABLESPACE", 1812)
    t.error("SELECT * FROM a", 1814)
    _path(t, t.server).write_bytes(exported)
    t.run("ALTER TABLE a IMPORT TABLESPACE", "INSERT INTO a VALUES (2)")
    t.rows("SELECT * FROM a AS b", [(1,), (2,)])
    other.query("SET SESSION lock_wait_timeout = 1")
    t.error("SELECT * FROM a", 1205, client=other)
    t.run("UNLOCK TABLES")
    t.equal(other.query("SELECT * FROM a"), [(1,), (2,)])
    t.check_table("a")


def test_names_too_long_for_a_file(t):
    """InnoDB cannot have such tables; ours cannot be moved."""
    _rowan_only(t)
    name, partition = "ä" * 64, "ö" * 64
    t.run(f"CREATE TABLE `{name}` (id INT PRIMARY KEY) PARTITION BY RANGE (id)"
          f" (PARTITION `{partition}` VALUES LESS THAN (9))", f"INSERT INTO `{name}` VALUES (1)")
    t.error(f"FLUSH TABLES `{name}` FOR EXPORT", 1680)
    t.error(f"ALTER TABLE `{name}` DISCARD TABLESPACE", 1680)
    t.rows(f"SELECT * FROM `{name}`", [(1,)])
    t.run(f"DROP TABLE `{name}`")
    t.true("Remove of" not in t.server.messages(), "complaints about files that cannot be")


def test_messages_spell_names_as_users_do(t):
    _rowan_only(t)
    t.run("CREATE TABLE p (id INT PRIMARY KEY) PARTITION BY RANGE (id) SUBPARTITION BY HASH (id)"
          " (PARTITION `l#p#w` VALUES LESS THAN (9) (SUBPARTITION `a#sp#b`, SUBPARTITION `ü`))",
          "ALTER TABLE p DISCARD PARTITION `a#sp#b` TABLESPACE")
    for statement in ("SELECT * FROM p", "INSERT INTO p VALUES (2)", "TRUNCATE TABLE p",
                      "ALTER TABLE p FORCE"):
        message = t.error(statement, 1814)
        t.true(message.endswith("'p'"), message)
    message = t.error("ALTER TABLE p TRUNCATE PARTITION `a#sp#b`", 1814)
    t.true(message.endswith("/p'"), f"InnoDB names the file: {message}")
    message = t.error("ALTER TABLE p IMPORT PARTITION `a#sp#b` TABLESPACE", 1812)
    t.true("partition l#p#w, subpartition a#sp#b" in message, message)
    message = t.error("ALTER TABLE p IMPORT PARTITION `ü` TABLESPACE", 1813)
    t.true("partition l#p#w, subpartition ü" in message, message)


def test_discarded_values_are_not_handed_out_again(t):
    _rowan_only(t)
    for engine in ("InnoDB", "ROWAN"):
        t.run("CREATE TABLE p (id INT AUTO_INCREMENT, r INT, PRIMARY KEY (id, r))"
              f" ENGINE={engine} PARTITION BY LIST (r) (PARTITION p1 VALUES IN (1),"
              " PARTITION p2 VALUES IN (2))", "INSERT INTO p VALUES (1, 1), (100, 2)",
              "ALTER TABLE p DISCARD PARTITION p2 TABLESPACE", "INSERT INTO p (r) VALUES (1)",
              f"CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT) ENGINE={engine}",
              "INSERT INTO a VALUES (500)", "ALTER TABLE a DISCARD TABLESPACE")
        t.rows("SELECT id FROM p PARTITION (p1)", [(1,), (101,)])
        definition = t.run("SHOW CREATE TABLE a")[0][1]
        t.true(" AUTO_INCREMENT=501 " in definition, definition)
        if engine == "InnoDB":
            t.run("DROP TABLE a, p")
    t.run("CREATE TABLE b LIKE a", "INSERT INTO b VALUES (7)", "FLUSH TABLES b FOR EXPORT")
    shutil.copy(_path(t, t.server, "b"), _path(t, t.server))
    t.run("UNLOCK TABLES", "ALTER TABLE a IMPORT TABLESPACE", "INSERT INTO a VALUES ()")
    t.rows("SELECT id FROM a", [(7,), (501,)])
    t.server.kill()
    t.server.start()
    t._first = t.client()
    t.run("INSERT INTO p PARTITION (p1) (r) VALUES (1)")
    t.rows("SELECT id FROM p PARTITION (p1)", [(1,), (101,), (102,)])
