# SPDX-License-Identifier: GPL-2.0-only
"""The first things anyone does with the engine: create, fill, read, change, drop, restart."""
from rowantools.client import ER_DUP_ENTRY

_NO_SUCH_TABLE = 1146


def test_engine_is_listed(t):
    rows = t.run(f"SELECT support FROM information_schema.engines WHERE engine = '{t.engine}'")
    t.true(rows and rows[0][0] in ("YES", "DEFAULT"), f"{t.engine} is not a usable engine: {rows}")


def test_rows_come_back(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(40), n BIGINT)",
          "INSERT INTO a VALUES (3, 'three', -3), (1, 'one', NULL), (2, NULL, 2)")
    t.rows("SELECT * FROM a", [(1, "one", None), (2, None, 2), (3, "three", -3)])
    t.rows("SELECT v FROM a WHERE id = 3", [("three",)])
    t.rows("SELECT id FROM a WHERE id BETWEEN 2 AND 9 ORDER BY id DESC", [(3,), (2,)])
    t.rows("SELECT COUNT(*), SUM(n) FROM a", [(3, "-1")])
    t.check_table("a")


def test_table_is_of_the_engine(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY)")
    t.rows("SELECT UPPER(engine) FROM information_schema.tables WHERE table_name = 'a' "
           f"AND table_schema = '{t.database}'", [(t.engine.upper(),)])


def test_update_and_delete(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, k INT, KEY (k))",
          "INSERT INTO a VALUES (1, 10), (2, 20), (3, 30), (4, 40)",
          "UPDATE a SET k = k + 1 WHERE k >= 20", "DELETE FROM a WHERE id = 3",
          "UPDATE a SET id = 9 WHERE id = 1")
    t.rows("SELECT * FROM a ORDER BY id", [(2, 21), (4, 41), (9, 10)])
    t.rows("SELECT k FROM a WHERE k > 0 ORDER BY k", [(10,), (21,), (41,)])
    t.check_table("a")


def test_duplicate_key_is_refused(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, u INT, UNIQUE (u))", "INSERT INTO a VALUES (1, 1)")
    t.error("INSERT INTO a VALUES (1, 2)", ER_DUP_ENTRY)
    t.error("INSERT INTO a VALUES (2, 1)", ER_DUP_ENTRY)
    t.error("INSERT INTO a VALUES (5, 5), (6, 1)", ER_DUP_ENTRY)
    t.rows("SELECT * FROM a", [(1, 1)])
    t.run("INSERT INTO a VALUES (2, NULL), (3, NULL)")
    t.rows("SELECT COUNT(*) FROM a WHERE u IS NULL", [(2,)])


def test_rollback_and_savepoint(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, k INT, KEY (k))", "INSERT INTO a VALUES (1, 1)",
          "BEGIN", "INSERT INTO a VALUES (2, 2)", "SAVEPOINT s", "UPDATE a SET k = 7",
          "DELETE FROM a WHERE id = 1", "ROLLBACK TO s")
    t.rows("SELECT * FROM a", [(1, 1), (2, 2)])
    t.run("ROLLBACK")
    t.rows("SELECT * FROM a", [(1, 1)])
    t.rows("SELECT id FROM a WHERE k = 1", [(1,)])


def test_uncommitted_is_invisible(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, k INT)", "INSERT INTO a VALUES (1, 1)")
    writer, reader = t.client(), t.client()
    reader.execute("BEGIN")
    t.equal(reader.query("SELECT k FROM a"), [(1,)])
    writer.execute("BEGIN")
    writer.execute("UPDATE a SET k = 2")
    t.equal(reader.query("SELECT k FROM a"), [(1,)], "before the commit")
    writer.execute("COMMIT")
    t.equal(reader.query("SELECT k FROM a"), [(1,)], "in the old snapshot")
    reader.execute("COMMIT")
    t.equal(reader.query("SELECT k FROM a"), [(2,)], "after the commit")


def test_truncate_rename_drop(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, k INT)",
          "INSERT INTO a (k) VALUES (1), (2)", "TRUNCATE TABLE a")
    t.rows("SELECT COUNT(*) FROM a", [(0,)])
    t.run("INSERT INTO a (k) VALUES (5)", "RENAME TABLE a TO b")
    t.rows("SELECT * FROM b", [(1, 5)])
    t.error("SELECT * FROM a", _NO_SUCH_TABLE)
    t.run("DROP TABLE b")
    t.error("SELECT * FROM b", _NO_SUCH_TABLE)


def test_table_without_primary_key(t):
    t.run("CREATE TABLE a (k INT, v VARCHAR(10))", "INSERT INTO a VALUES (2, 'b'), (2, 'b')",
          "INSERT INTO a VALUES (1, 'a')", "DELETE FROM a WHERE k = 2 LIMIT 1")
    t.rows("SELECT * FROM a ORDER BY k", [(1, "a"), (2, "b")])


def test_everything_survives_a_restart(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(200), KEY (v))",
          "INSERT INTO a (v) VALUES ('x'), ('y')")
    for _ in range(8):
        t.run("INSERT INTO a (v) SELECT CONCAT(v, id) FROM a")
    before = t.run("SELECT * FROM a ORDER BY id")
    next_id = t.value("SELECT MAX(id) FROM a")
    t.server.restart()
    client = t.client()
    t.equal(client.query("SELECT * FROM a ORDER BY id"), before, "rows after the restart")
    client.execute("INSERT INTO a (v) VALUES ('after')")
    t.true(client.value("SELECT MAX(id) FROM a") > next_id, "AUTO_INCREMENT went backwards")
    t.check_table("a", client)


def test_kill_loses_no_commit(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, k INT, KEY (k))")
    for number in range(100):
        t.run(f"INSERT INTO a VALUES ({number}, {number % 7})")
    t.run("BEGIN", "DELETE FROM a WHERE id < 50")
    t.server.kill()
    t.server.start()
    client = t.client()
    t.equal(client.value("SELECT COUNT(*) FROM a"), 100)
    t.equal(client.value("SELECT COUNT(*) FROM a FORCE INDEX (k) WHERE k >= 0"), 100)
    t.check_table("a", client)
