# SPDX-License-Identifier: GPL-2.0-only
"""Temporary tables: the same statements in two sessions, one with tables of our engine, one with
InnoDB's, must do the same. And nothing of them is left behind, whatever ends.
"""
import os

from framework import Failure
from rowantools.client import MysqlError

_CANNOT_REOPEN = 1137
_NO_SUCH_TABLE = 1146


class Beside:
    """A session for each engine, in databases of their own."""

    def __init__(self, t, server=None):
        self.t, self.sessions = t, {}
        for name, engine in (("ours", t.engine), ("theirs", "InnoDB")):
            client = t.client(server, database=f"{t.database}_{name}"[:60])
            client.execute(f"SET default_storage_engine = {engine}, "
                           f"default_tmp_storage_engine = {engine}")
            self.sessions[name] = client

    def _outcome(self, name, statement):
        statement = statement.replace("{who}", name)
        try:
            result = self.sessions[name].execute(statement)
        except MysqlError as error:
            return ("error", error.code)
        return (result.affected, str(result.rows).replace(f"_{name}.", "."))

    def each(self, statement):
        ours, theirs = (self._outcome(name, statement) for name in ("ours", "theirs"))
        if ours != theirs:
            raise Failure(f"{statement[:300]}: ours {str(ours)[:500]}, theirs {str(theirs)[:500]}")
        return ours

    def run(self, *statements):
        """All succeed on both."""
        for statement in statements:
            outcome = self.each(statement)
            if outcome[0] == "error":
                raise Failure(f"{statement[:300]}: both failed with {outcome[1]}")

    def error(self, statement, code):
        self.t.equal(self.each(statement), ("error", code), statement)

    def end(self):
        for client in self.sessions.values():
            client.execute("SET autocommit = 1")
            client.execute("DROP DATABASE " + client.query("SELECT DATABASE()")[0][0])


def _client(t, server=None):
    client = t.client(server)
    client.execute(f"SET default_tmp_storage_engine = {t.engine}")
    return client


def _temporary_files(server):
    return [name for name in os.listdir(server.data / "rowan") if name.endswith(".temporary")]


def _table_files(t):
    """Of temporary tables: all but the undo."""
    if t.engine != "ROWAN":
        return []
    return [name for name in _temporary_files(t.server) if "_4026531840." not in name]


_ALL_TYPES = (
    "CREATE TEMPORARY TABLE x (id INT AUTO_INCREMENT PRIMARY KEY, a TINYINT UNSIGNED,"
    " b DECIMAL(20,5), c DOUBLE, d CHAR(10), e VARCHAR(300) COLLATE utf8mb4_0900_ai_ci,"
    " f BLOB, g LONGTEXT, h JSON,"
    " i DATE, j DATETIME(3), k TIMESTAMP NULL, l TIME(6), m YEAR, n ENUM('p','q'), o SET('p','q'),"
    " p BIT(9), q VARBINARY(50), r INT AS (a + 1) STORED, UNIQUE KEY ua (a), KEY ke (e, d),"
    " KEY kf (f(20)), KEY kj (j DESC))")
_ALL_VALUES = (
    "INSERT INTO x (a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q) VALUES (1,1.5,2e10,'c','Éa',"
    "REPEAT('b',30000),REPEAT('long ',40000),'{\"a\": [1, 2]}','2020-01-02',"
    "'2020-01-02 03:04:05.678',"
    "'2021-02-03 04:05:06','11:12:13.1415',1999,'q','p,q',b'101','bin'),"
    "(2,NULL,NULL,NULL,'ea',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL)")


def test_all_types_and_indexes(t):
    pair = Beside(t)
    pair.run(_ALL_TYPES, _ALL_VALUES,
             "INSERT INTO x (a, e, f) SELECT 2 + n, CONCAT('e', n), REPEAT(n, n * 1000) FROM "
             "(SELECT 1 n UNION SELECT 2 UNION SELECT 3 UNION SELECT 20) s",
             "SELECT * FROM x ORDER BY id", "SELECT id FROM x WHERE e = 'ÉA'",
             "SELECT id FROM x FORCE INDEX (kj) ORDER BY j", "SELECT COUNT(*) FROM x",
             "SELECT r FROM x WHERE a = 2", "SELECT id FROM x FORCE INDEX (kf) WHERE f LIKE '2%'",
             "SELECT /*+ INDEX_MERGE(x) */ id FROM x WHERE a = 3 OR j = '2020-01-02 03:04:05.678'",
             "UPDATE x SET f = REPEAT('n', 50000), e = 'zz' WHERE a = 1",
             "SELECT a, LENGTH(f), LEFT(g, 9), h FROM x WHERE e = 'zz'",
             "DELETE FROM x WHERE a = 2", "SELECT COUNT(*), SUM(LENGTH(f)) FROM x",
             "CHECK TABLE x", "ANALYZE TABLE x", "OPTIMIZE TABLE x", "SELECT COUNT(*) FROM x")
    pair.error("INSERT INTO x (a) VALUES (50), (1)", 1062)
    pair.run("SELECT id, a FROM x ORDER BY id", "INSERT INTO x (a) VALUES (60)",
             "SELECT LAST_INSERT_ID(), MAX(id) FROM x", "SHOW COLUMNS FROM x",
             "REPLACE INTO x (a, e) VALUES (60, 'replaced')",
             "INSERT INTO x (a) VALUES (60) ON DUPLICATE KEY UPDATE e = 'updated'",
             "SELECT a, e FROM x ORDER BY a", "DROP TEMPORARY TABLE x")
    pair.end()


def test_transactions(t):
    pair = Beside(t)
    pair.run("CREATE TEMPORARY TABLE x (id INT PRIMARY KEY, k INT, b TEXT, UNIQUE KEY (k))",
             "CREATE TABLE base (id INT PRIMARY KEY, k INT)",
             "START TRANSACTION", "INSERT INTO x VALUES (1, 1, REPEAT('a', 20000)), (2, 2, 'b')",
             "INSERT INTO base VALUES (1, 1)", "COMMIT", "SELECT id, LENGTH(b) FROM x",
             "START TRANSACTION", "UPDATE x SET k = k + 10, b = REPEAT('c', 30000)",
             "DELETE FROM x WHERE id = 1", "INSERT INTO x VALUES (3, 3, NULL)",
             "INSERT INTO base VALUES (2, 2)", "SELECT id, k, LENGTH(b) FROM x", "ROLLBACK",
             "SELECT id, k, LENGTH(b) FROM x ORDER BY k", "SELECT * FROM base",
             "SET autocommit = 0", "INSERT INTO x VALUES (4, 4, 'd')", "SAVEPOINT s1",
             "UPDATE x SET k = 40 WHERE id = 4", "INSERT INTO base VALUES (4, 4)", "SAVEPOINT s2",
             "DELETE FROM x", "ROLLBACK TO s2", "SELECT id, k FROM x ORDER BY id", "ROLLBACK TO s1",
             "SELECT id, k FROM x ORDER BY id", "SELECT * FROM base", "RELEASE SAVEPOINT s1",
             "COMMIT", "SELECT id, k FROM x ORDER BY id")
    # A statement that fails half-way leaves nothing of itself.
    pair.error("INSERT INTO x VALUES (7, 7, 'x'), (8, 8, 'y'), (9, 4, 'z')", 1062)
    pair.error("UPDATE x SET k = 99", 1062)
    pair.run("SELECT id, k FROM x ORDER BY id", "ROLLBACK", "SELECT id, k FROM x ORDER BY k")
    for level in ("READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"):
        pair.run(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}", "START TRANSACTION",
                 "SELECT COUNT(*) FROM base", "SELECT COUNT(*) FROM x FOR UPDATE",
                 "INSERT INTO x VALUES (20, 20, 'r')", "SELECT id FROM x ORDER BY id", "ROLLBACK",
                 "SELECT COUNT(*) FROM x")
    # Created and dropped inside: not part of the transaction, but rows of others are.
    pair.run("START TRANSACTION", "CREATE TEMPORARY TABLE y (i INT)", "INSERT INTO y VALUES (1)",
             "INSERT INTO x VALUES (30, 30, 'g')", "DROP TEMPORARY TABLE y",
             "CREATE TEMPORARY TABLE z (i INT)", "INSERT INTO z VALUES (1)", "ROLLBACK",
             "SELECT COUNT(*) FROM x", "SELECT COUNT(*) FROM z")
    pair.run("SET SESSION TRANSACTION READ ONLY", "START TRANSACTION",
             "INSERT INTO x VALUES (50, 50, 'r')", "UPDATE x SET b = 'o' WHERE id = 50", "COMMIT",
             "SELECT b FROM x WHERE id = 50", "SET SESSION TRANSACTION READ WRITE", "CHECK TABLE x")
    pair.end()


def test_distributed_transactions(t):
    pair = Beside(t)
    pair.run("CREATE TEMPORARY TABLE x (id INT PRIMARY KEY)", "CREATE TABLE base (id INT)",
             "XA START '{who}'", "INSERT INTO base VALUES (1)")
    t.equal(pair.each("INSERT INTO x VALUES (1)")[0], "error", "beside detaching")
    pair.run("XA END '{who}'", "XA ROLLBACK '{who}'", "SET xa_detach_on_prepare = OFF")
    for number, end, change in ((1, "COMMIT", "INSERT INTO base VALUES (2)"), (2, "COMMIT", "DO 0"),
                                (3, "ROLLBACK", "INSERT INTO base VALUES (3)"),
                                (4, "ROLLBACK", "DO 0")):
        pair.run("XA START '{who}'", f"INSERT INTO x VALUES ({number})", change, "XA END '{who}'",
                 "XA PREPARE '{who}'", f"XA {end} '{{who}}'", "SELECT * FROM x",
                 "SELECT * FROM base")
    pair.end()


def test_definition_changes(t):
    t.wait_for(lambda: not _table_files(t), "files of sessions of other tests go")
    pair = Beside(t)
    pair.run("CREATE TABLE base (id INT AUTO_INCREMENT PRIMARY KEY, k INT, KEY (k))",
             "INSERT INTO base (k) VALUES (5), (6), (7)",
             "CREATE TEMPORARY TABLE copied LIKE base", "INSERT INTO copied (k) SELECT k FROM base",
             "SELECT * FROM copied", "CREATE TEMPORARY TABLE s (KEY (k)) SELECT id, k FROM base",
             "SELECT * FROM s ORDER BY k DESC",
             "ALTER TABLE copied ADD COLUMN v VARCHAR(20) DEFAULT 'v', ADD KEY (v), DROP KEY k",
             "SELECT * FROM copied ORDER BY id", "ALTER TABLE copied AUTO_INCREMENT = 100",
             "INSERT INTO copied (k) VALUES (1)", "SELECT MAX(id) FROM copied",
             "ALTER TABLE copied COMMENT 'c'", "SELECT COUNT(*) FROM copied",
             "ALTER TABLE copied RENAME TO other", "SELECT COUNT(*) FROM other",
             "ALTER TABLE other MODIFY k BIGINT", "CREATE INDEX kk ON other (k, v)",
             "SELECT k FROM other FORCE INDEX (kk) ORDER BY k", "DROP INDEX kk ON other",
             "TRUNCATE TABLE other", "SELECT COUNT(*) FROM other",
             "INSERT INTO other (k) VALUES (9)", "SELECT id FROM other",
             # Hides the table of the same name.
             "CREATE TEMPORARY TABLE base (z INT)", "INSERT INTO base VALUES (1)",
             "SELECT * FROM base", "DROP TABLE base", "SELECT COUNT(*) FROM base",
             "DROP TEMPORARY TABLE IF EXISTS nothing")
    pair.error("SELECT 1 FROM copied", _NO_SUCH_TABLE)
    pair.error("SELECT 1 FROM other a, other b", _CANNOT_REOPEN)
    pair.error("ALTER TABLE other ADD UNIQUE KEY (z)", 1072)
    pair.error("CREATE TEMPORARY TABLE dup (PRIMARY KEY (a)) SELECT 1 a UNION ALL SELECT 1", 1062)
    pair.error("SELECT 1 FROM dup", _NO_SUCH_TABLE)
    pair.error("CREATE TEMPORARY TABLE p (i INT) PARTITION BY HASH (i) PARTITIONS 2", 1562)
    for child in ("CREATE TEMPORARY TABLE child (p INT, FOREIGN KEY (p) REFERENCES base (id))",
                  "CREATE TABLE child (p INT, FOREIGN KEY (p) REFERENCES other (id))"):
        t.equal(pair.each(child)[0], "error", child)
    pair.run("DROP TABLE other, s", "CREATE TEMPORARY TABLE last (i INT)")
    pair.end()
    t.equal(len(_table_files(t)), 1, "files: `last` outlives its database")


def test_in_procedures_and_prepared_statements(t):
    pair = Beside(t)
    pair.run("CREATE TABLE base (id INT PRIMARY KEY, k INT)", "INSERT INTO base VALUES (1,1),(2,4)",
             "CREATE PROCEDURE p() BEGIN DECLARE i INT DEFAULT 0; "
             "DROP TEMPORARY TABLE IF EXISTS w; "
             "CREATE TEMPORARY TABLE w (i INT PRIMARY KEY, s VARCHAR(20)); WHILE i < 50 DO "
             "INSERT INTO w VALUES (i, CONCAT('s', i)); SET i = i + 1; END WHILE; "
             "UPDATE w, base SET w.s = base.k WHERE w.i = base.id; "
             "DELETE w FROM w JOIN base ON base.k = w.i; END",
             "CALL p()", "CALL p()", "SELECT COUNT(*), MIN(s), MAX(s) FROM w",
             "SELECT * FROM base JOIN w ON w.i = base.id",
             "CREATE FUNCTION f() RETURNS INT BEGIN INSERT INTO w VALUES (100 + RAND() * 0, 'f'); "
             "RETURN (SELECT COUNT(*) FROM w); END",
             "SELECT f()", "PREPARE q FROM 'SELECT s FROM w WHERE i = ?'", "SET @a = 1",
             "EXECUTE q USING @a", "DROP TEMPORARY TABLE w", "CALL p()", "EXECUTE q USING @a",
             "PREPARE u FROM 'UPDATE w SET s = ? WHERE i < ?'", "SET @b = 'new', @c = 10",
             "EXECUTE u USING @b, @c", "SELECT COUNT(*) FROM w WHERE s = 'new'",
             "CREATE TRIGGER g AFTER INSERT ON base FOR EACH ROW "
             "INSERT INTO w VALUES (NEW.id, 'g')",
             "INSERT INTO base VALUES (200, 1)", "SELECT * FROM w WHERE s = 'g'",
             "LOCK TABLES base WRITE", "INSERT INTO base VALUES (201, 1)",
             "INSERT INTO w VALUES (300, 'l')", "UNLOCK TABLES", "SELECT COUNT(*) FROM w",
             "HANDLER w OPEN", "HANDLER w READ FIRST", "HANDLER w CLOSE")
    pair.error("INSERT INTO base VALUES (200, 1)", 1062)
    pair.run("SELECT COUNT(*) FROM w")
    pair.end()


def test_what_ends_a_session_ends_its_tables(t):
    if t.engine != "ROWAN":
        t.skip("looks at our files")
    t.wait_for(lambda: not _table_files(t), "files of sessions of other tests go")
    clients = [_client(t) for _ in range(3)]
    for client in clients:
        client.execute("CREATE TEMPORARY TABLE x (id INT PRIMARY KEY, b MEDIUMBLOB)")
        client.execute("START TRANSACTION")
        client.execute("INSERT INTO x VALUES (1, REPEAT('x', 100000))")
    t.equal(len(_table_files(t)), 3)
    clients[0].close()
    killed = clients[1].query("SELECT CONNECTION_ID()")[0][0]
    t.run(f"KILL {killed}")
    t.wait_for(lambda: len(_table_files(t)) == 1, "files of ended sessions go")
    clients[2].execute("DROP TABLE x")
    t.equal(len(_table_files(t)), 0)


def test_a_reset_connection_has_no_tables(t):
    client = _client(t)
    client.execute("CREATE TEMPORARY TABLE x (id INT PRIMARY KEY)")
    client.execute("START TRANSACTION")
    client.execute("INSERT INTO x VALUES (1)")
    client.reset()
    t.error(f"SELECT * FROM {t.database}.x", _NO_SUCH_TABLE, client)
    client.execute(f"SET default_tmp_storage_engine = {t.engine}")
    client.execute("CREATE TEMPORARY TABLE x (id INT PRIMARY KEY)")
    client.execute("INSERT INTO x VALUES (2)")
    t.equal(client.query("SELECT * FROM x"), [(2,)])


def test_the_plugin_stays_while_a_table_is_open(t):
    if t.engine != "ROWAN":
        t.skip("is about our plugin")
    server = t.new_server()
    server.start()
    client, other = _client(t, server), server.client()
    client.execute("CREATE TEMPORARY TABLE x (id INT PRIMARY KEY)")
    client.execute("INSERT INTO x VALUES (1)")
    t.error("UNINSTALL PLUGIN rowan", 1883, other)
    client.execute("INSERT INTO x VALUES (2)")
    t.equal(client.query("SELECT COUNT(*) FROM x"), [(2,)])
    client.close()
    t.uninstall(other)
    t.equal(_temporary_files(server), [])


def test_formats_of_the_binlog(t):
    server = t.new_server(binlog=True)
    server.start()
    for binlog_format in ("STATEMENT", "MIXED", "ROW"):
        pair = Beside(t, server)
        pair.run(f"SET SESSION binlog_format = {binlog_format}",
                 "CREATE TEMPORARY TABLE x (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(40))",
                 "INSERT INTO x (v) VALUES ('a'), (UUID())", "UPDATE x SET v = 'b' WHERE id = 1",
                 "START TRANSACTION", "INSERT INTO x (v) VALUES ('c')",
                 "DELETE FROM x WHERE id = 1", "SELECT id FROM x", "ROLLBACK",
                 "SELECT id FROM x", "CREATE TEMPORARY TABLE y LIKE x",
                 "INSERT INTO y SELECT * FROM x WHERE id = 1", "SELECT * FROM y",
                 "CREATE TEMPORARY TABLE z SELECT id FROM y", "ALTER TABLE z ADD KEY (id)",
                 "TRUNCATE TABLE y", "DROP TABLE y, z")
        pair.run("CREATE TABLE base (id INT PRIMARY KEY)", "START TRANSACTION",
                 "INSERT INTO base SELECT id FROM x", "INSERT INTO x (v) VALUES ('d')", "COMMIT",
                 "SELECT COUNT(*) FROM base JOIN x USING (id)")
        pair.end()


def test_nothing_is_left_of_a_crash_or_a_shutdown(t):
    if t.engine != "ROWAN":
        t.skip("looks at our files")
    server = t.new_server()
    server.start()
    for end in (server.kill, server.stop):
        client = _client(t, server)
        client.execute("CREATE TEMPORARY TABLE x (id INT PRIMARY KEY, b MEDIUMBLOB)")
        client.execute("INSERT INTO x VALUES (1, REPEAT('x', 60000))")
        client.execute("START TRANSACTION")
        client.execute("INSERT INTO x VALUES (2, REPEAT('x', 60000))")
        t.equal(len(_temporary_files(server)), 2)
        end()
        server.start()
        t.equal(_temporary_files(server), [], f"files after {end.__name__}")
    for line in server.messages().splitlines():
        t.true("owan" not in line or "arning" not in line and "ERROR" not in line, line)


def test_more_rows_than_the_buffer_pool_holds(t):
    server = t.new_server(buffer_pool="16M")
    server.start()
    pair = Beside(t, server)
    pair.run("CREATE TEMPORARY TABLE x (id INT PRIMARY KEY, k INT, v VARCHAR(1000), KEY (k))",
             "SET cte_max_recursion_depth = 100000",
             "INSERT INTO x WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE "
             "i < 29999) SELECT i, i % 1000, REPEAT(CHAR(65 + i % 26), 900) FROM n",
             "SELECT COUNT(*), SUM(k), SUM(CRC32(v)) FROM x",
             "UPDATE x SET k = k + 1, v = REVERSE(CONCAT(v, 'x')) WHERE id % 3 = 0",
             "START TRANSACTION", "DELETE FROM x WHERE id % 2 = 0", "SELECT COUNT(*) FROM x",
             "ROLLBACK", "SELECT COUNT(*), SUM(k), SUM(CRC32(v)) FROM x",
             "SELECT SUM(LENGTH(v)) FROM x FORCE INDEX (k) WHERE k BETWEEN 100 AND 200",
             "CHECK TABLE x")
