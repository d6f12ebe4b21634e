# SPDX-License-Identifier: GPL-2.0-only
"""CREATE, DROP, ALTER, RENAME, TRUNCATE: together with the server's dictionary, or not at all."""
import os


_ER_NOT_SUPPORTED = (1235, 1478, 1178, 1214, 1112, 3106, 3105, 1464, 1148, 1506, 1031)
_NO_SUCH_TABLE = 1146


def _files(t):
    """Files of tables; a dropped one is renamed at once and removed in the background."""
    folder = t.server.data / ("rowan" if t.engine == "ROWAN" else t.database)
    return sorted(name for name in os.listdir(folder) if name.endswith((".rws", ".ibd")))


def test_create_like_and_select(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, k INT, KEY (k))",
          "INSERT INTO a (k) VALUES (1), (2), (3)", "CREATE TABLE b LIKE a",
          "CREATE TABLE c (PRIMARY KEY (id)) SELECT id, k * 2 AS d FROM a")
    t.rows("SELECT COUNT(*) FROM b", [(0,)])
    t.rows("SELECT * FROM c", [(1, 2), (2, 4), (3, 6)])
    t.run("INSERT INTO b (k) VALUES (9)")
    t.rows("SELECT id FROM b", [(1,)])
    t.check_table("c")


def test_failed_create_leaves_nothing(t):
    t.run("CREATE TABLE a (id INT)", "INSERT INTO a VALUES (1), (1)")
    before = _files(t)
    t.error("CREATE TABLE b (id INT PRIMARY KEY) SELECT id FROM a", 1062)
    t.error("SELECT * FROM b", _NO_SUCH_TABLE)
    t.equal(_files(t), before, "files after the failed CREATE")
    t.run("CREATE TABLE b (id INT PRIMARY KEY)", "DROP TABLE b")
    t.equal(_files(t), before, "files after DROP")


def test_what_is_not_supported_is_refused(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's limits")
    for statement in (
            "CREATE TABLE x (id INT PRIMARY KEY, g POINT NOT NULL SRID 0, SPATIAL KEY (g))"
            " PARTITION BY KEY (id)",
            "CREATE TABLE x (id INT PRIMARY KEY) ROW_FORMAT=FIXED",
            "CREATE TABLE x (id INT PRIMARY KEY) ENCRYPTION='Y'",
            "CREATE TABLE x (id INT PRIMARY KEY) TABLESPACE=innodb_system"):
        t.error(statement, _ER_NOT_SUPPORTED)
        t.error("SELECT * FROM x", _NO_SUCH_TABLE)
    t.run("SET sql_mode = 'NO_DIR_IN_CREATE'",
          "CREATE TABLE x (id INT PRIMARY KEY) DATA DIRECTORY='/tmp'",
          "CREATE TABLE y (id INT PRIMARY KEY) PARTITION BY HASH (id)"
          " (PARTITION p0 DATA DIRECTORY='/tmp', PARTITION p1)", "SET sql_mode = DEFAULT")


def test_alter_copies(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, k INT, v VARCHAR(20))",
          "INSERT INTO a (k, v) VALUES (3, 'c'), (1, 'a'), (2, 'b')",
          "ALTER TABLE a ADD COLUMN n INT NOT NULL DEFAULT 7, ADD KEY (k)",
          "ALTER TABLE a MODIFY v VARCHAR(100), DROP COLUMN n", "CREATE INDEX kv ON a (k, v)",
          "ALTER TABLE a DROP PRIMARY KEY, MODIFY id INT, ADD PRIMARY KEY (k)")
    t.rows("SELECT * FROM a", [(2, 1, "a"), (3, 2, "b"), (1, 3, "c")])
    t.rows("SELECT v FROM a FORCE INDEX (kv) WHERE k = 2", [("b",)])
    t.error("ALTER TABLE a ADD UNIQUE (v), MODIFY v CHAR(1), ADD COLUMN k INT", (1060, 1062))
    t.run("INSERT INTO a VALUES (9, 9, 'a')")
    t.error("ALTER TABLE a ADD UNIQUE (v)", 1062)
    t.check_table("a")
    t.run("OPTIMIZE TABLE a")
    t.rows("SELECT COUNT(*) FROM a", [(4,)])
    t.run("ALTER TABLE a ENGINE=InnoDB", "ALTER TABLE a ENGINE=" + t.engine)
    t.rows("SELECT COUNT(*), SUM(k) FROM a", [(4, "15")])
    t.check_table("a")


def test_index_builds_sort_and_find_duplicates(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, k INT, s VARCHAR(40), u INT)",
          "INSERT INTO a (k, s, u) VALUES (3, 'c', NULL), (1, 'a', 7), (2, NULL, 8)")
    for _ in range(10):
        t.run("INSERT INTO a (k, s) SELECT k * 7 % 1009, CONCAT(id, '-', k) FROM a")
    before = t.run("SELECT COUNT(*), SUM(k), COUNT(s) FROM a")
    t.run("CREATE INDEX k ON a (k DESC, s(3))", "CREATE UNIQUE INDEX u ON a (u)")
    t.rows("SELECT COUNT(*), SUM(k), COUNT(s) FROM a FORCE INDEX (k) WHERE k >= 0", before)
    t.check_table("a")
    for name, parts in (("k2", "k"), ("s2", "s(1)")):
        message = t.error(f"CREATE UNIQUE INDEX {name} ON a ({parts})", 1062)
        t.true(f"for key 'a.{name}'" in message, f"the user's names are in: {message}")
    t.error("ALTER TABLE a DROP PRIMARY KEY, MODIFY id INT, ADD PRIMARY KEY (k)", 1062)
    t.error("UPDATE a SET u = 8 WHERE u = 7", 1062)
    t.run("ALTER TABLE a MODIFY id INT NOT NULL, DROP PRIMARY KEY, ADD PRIMARY KEY (k, id)")
    t.rows("SELECT COUNT(*), SUM(k), COUNT(s) FROM a", before)
    t.check_table("a")
    t.run("ALTER TABLE a DROP PRIMARY KEY, DROP INDEX u")
    t.rows("SELECT COUNT(*), SUM(k), COUNT(s) FROM a", before)
    t.check_table("a")


def test_a_snapshot_older_than_the_table_is_told(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, k INT)", "INSERT INTO a VALUES (1, 1)",
          "CREATE TABLE other (id INT PRIMARY KEY)")
    reader = t.client()
    reader.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    t.run("CREATE INDEX k ON a (k)")
    if t.engine == "ROWAN":  # InnoDB builds in place: only the new index is too new
        t.error("SELECT * FROM a", 1412, client=reader)
    reader.execute("COMMIT")
    t.equal(reader.query("SELECT * FROM a"), [(1, 1)], "after the old snapshot")


def test_metadata_changes_do_not_copy(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, k INT DEFAULT 1, KEY old_name (k))",
          "INSERT INTO a VALUES (1, 1)", "ALTER TABLE a COMMENT 'hello', ALGORITHM=INSTANT",
          "ALTER TABLE a ALTER k SET DEFAULT 5, ALGORITHM=INSTANT",
          "ALTER TABLE a RENAME COLUMN k TO kk, ALGORITHM=INSTANT",
          "ALTER TABLE a RENAME INDEX old_name TO new_name", "INSERT INTO a (id) VALUES (2)")
    t.rows("SELECT id, kk FROM a FORCE INDEX (new_name) WHERE kk > 0", [(1, 1), (2, 5)])
    t.run("FLUSH TABLES")
    t.rows("SELECT * FROM a", [(1, 1), (2, 5)])
    t.check_table("a")


def test_rename(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY)", "CREATE TABLE b (id INT PRIMARY KEY)",
          "INSERT INTO a VALUES (1)", "INSERT INTO b VALUES (2)",
          "RENAME TABLE a TO x, b TO a, x TO b")
    t.rows("SELECT * FROM a", [(2,)])
    t.rows("SELECT * FROM b", [(1,)])
    t.run(f"CREATE DATABASE {t.database}_2")
    try:
        t.run(f"RENAME TABLE a TO {t.database}_2.moved")
        t.rows(f"SELECT * FROM {t.database}_2.moved", [(2,)])
    finally:
        t.run(f"DROP DATABASE {t.database}_2")
    t.run("ALTER TABLE b RENAME TO c")
    t.rows("SELECT * FROM c", [(1,)])


def test_truncate(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, v INT, KEY (v))")
    t.run("INSERT INTO a (v) VALUES " + ", ".join(["(1)"] * 500))
    before = _files(t)
    t.run("TRUNCATE a")
    t.rows("SELECT COUNT(*) FROM a", [(0,)])
    t.equal(len(_files(t)), len(before), "number of files")
    t.run("INSERT INTO a (v) VALUES (1)")
    t.rows("SELECT id FROM a FORCE INDEX (v) WHERE v = 1", [(1,)])
    t.run("LOCK TABLES a WRITE", "TRUNCATE a", "INSERT INTO a (v) VALUES (2)", "UNLOCK TABLES")
    t.rows("SELECT * FROM a", [(1, 2)])


def test_drop_database_and_many_tables(t):
    before = _files(t)
    t.run(f"CREATE DATABASE {t.database}_x")
    for i in range(10):
        t.run(f"CREATE TABLE {t.database}_x.t{i} (id INT PRIMARY KEY)",
              f"INSERT INTO {t.database}_x.t{i} VALUES ({i})")
    t.run(f"DROP DATABASE {t.database}_x")
    t.equal(_files(t), before, "files after DROP DATABASE")


def test_names_with_odd_characters(t):
    t.run("CREATE TABLE `größe 1/2 #x` (id INT PRIMARY KEY, `ä-b` INT, KEY `k k` (`ä-b`))",
          "INSERT INTO `größe 1/2 #x` VALUES (1, 2)", "FLUSH TABLES")
    t.rows("SELECT `ä-b` FROM `größe 1/2 #x` WHERE `ä-b` = 2", [(2,)])
    t.run("DROP TABLE `größe 1/2 #x`")


def test_ddl_survives_kill(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY)", "INSERT INTO a VALUES (1)",
          "CREATE TABLE gone (id INT PRIMARY KEY)", "DROP TABLE gone",
          "CREATE TABLE cut (id INT PRIMARY KEY)", "INSERT INTO cut VALUES (1)", "TRUNCATE cut",
          "RENAME TABLE a TO b", "ALTER TABLE b ADD COLUMN n INT DEFAULT 3")
    t.server.kill()
    t.server.start()
    client = t.client()
    t.equal(client.query("SELECT * FROM b"), [(1, 3)])
    t.equal(client.query("SELECT * FROM cut"), [])
    t.equal(client.error_code("SELECT * FROM gone"), _NO_SUCH_TABLE)
    client.execute("CREATE TABLE after_it (id INT PRIMARY KEY)")
    t.check_table("b", client)


def test_statistics(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, k INT, v VARCHAR(50), KEY (k))",
          "SET SESSION information_schema_stats_expiry = 0")
    t.run("INSERT INTO a VALUES " + ", ".join(f"({i}, {i % 10}, REPEAT('x', 50))"
                                               for i in range(1000)))
    t.run("ANALYZE TABLE a")
    rows, length = t.run("SELECT table_rows, data_length FROM information_schema.tables "
                         f"WHERE table_schema = '{t.database}' AND table_name = 'a'")[0]
    t.true(800 <= rows <= 1200, f"table_rows {rows}")
    t.true(60000 <= length <= 400000, f"data_length {length}")
    cardinality = t.value("SELECT cardinality FROM information_schema.statistics WHERE index_name"
                          f" = 'k' AND table_schema = '{t.database}' AND seq_in_index = 1")
    t.true(8 <= cardinality <= 13, f"cardinality of k {cardinality}")
    plan = t.run("EXPLAIN FORMAT=TREE SELECT * FROM a WHERE k = 3")[0][0]
    t.true("using k" in plan and 60 <= int(plan.split("rows=")[1].split(")")[0]) <= 160, plan)
