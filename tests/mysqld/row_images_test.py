# SPDX-License-Identifier: GPL-2.0-only
"""Changes of rows as the binary log has them: with all columns, with few of them, and with parts of
JSON values. Another server that carries them out has the same rows and indexes."""
from log_replay import replay

_TABLES = {
    "g": "CREATE TABLE g (id INT PRIMARY KEY, a INT, b TEXT, v INT AS (a * 2),"
         " w VARCHAR(9) AS (LEFT(b, 5)), t TEXT AS (REPEAT(b, 3)), KEY (v), UNIQUE (w, id),"
         " KEY (t(20)), KEY ((a + 1)))",
    "n": "CREATE TABLE n (a INT, v INT AS (a + 1), b BLOB, KEY (v), KEY ((a * 2)))",
    "j": "CREATE TABLE j (id INT PRIMARY KEY, d JSON, e JSON, s VARCHAR(20) AS (d->>'$.s'),"
         " x INT, KEY (s))"}
_CHANGES = (
    "INSERT INTO g (id, a, b) VALUES (1, 1, 'one'), (2, 2, REPEAT('two', 3000)), (3, NULL, NULL),"
    " (4, 4, 'four')",
    "UPDATE g SET a = a + 10 WHERE id < 3", "UPDATE g SET b = 'changed' WHERE v = 24",
    "UPDATE g SET id = 33 WHERE w IS NULL", "REPLACE INTO g (id, a, b) VALUES (4, 5, 'five')",
    "INSERT INTO g (id, a) VALUES (1, 7) ON DUPLICATE KEY UPDATE a = v, b = CONCAT(b, w)",
    "DELETE FROM g WHERE v = 10", "UPDATE g SET a = NULL WHERE id = 2",
    "INSERT INTO n (a, b) VALUES (1, 'x'), (1, 'x'), (2, NULL), (3, REPEAT('b', 20000))",
    "UPDATE n SET a = a + 5 WHERE v = 3", "DELETE FROM n WHERE v = 2 LIMIT 1",
    "UPDATE n SET b = 'y' WHERE a = 3",
    "INSERT INTO j (id, d, e, x) VALUES (1, JSON_OBJECT('s', 'abcdefgh', 'l', REPEAT('l', 3000)),"
    " '[1, 2, 3]', 1), (2, JSON_OBJECT('s', 'q', 'm', REPEAT('m', 30000)), NULL, 2), (3, '{}',"
    " '{\"a\": {\"b\": 1}}', 3)",
    "UPDATE j SET d = JSON_SET(d, '$.s', 'xyz'), e = JSON_REPLACE(e, '$[1]', 9)",
    "UPDATE j SET d = JSON_REMOVE(d, '$.l'), x = x + 1 WHERE id = 1",
    "UPDATE j SET d = JSON_SET(d, '$.new', 1, '$.s', 'longer than before') WHERE s = 'xyz'",
    "UPDATE j SET e = JSON_SET(e, '$.a.b', JSON_ARRAY(1, 2)) WHERE id = 3",
    "BEGIN", "UPDATE j SET d = JSON_SET(d, '$.s', 'gone')", "ROLLBACK",
    "UPDATE j SET x = 9 WHERE s = 'q' OR id = 2", "DELETE FROM j WHERE x = 3 AND id = 3")


def test_images_of_rows(t):
    source, copy = t.new_server(binlog=True), t.new_server()
    source.start()
    databases = []
    for image in ("FULL", "MINIMAL", "NOBLOB"):
        for options in ("", "PARTIAL_JSON"):
            databases.append(f"{image}_{options}".lower())
            client = t.client(source, database=databases[-1])
            client.execute(f"SET binlog_row_image = {image}, binlog_format = ROW,"
                           f" binlog_row_value_options = '{options}'")
            for statement in (*_TABLES.values(), *_CHANGES):
                client.execute(statement)
    copy.start()
    events = replay(source, copy)
    t.true(b"BINLOG '" in events, "rows are logged")
    for database in databases:
        ours, theirs = t.client(source, database=database), t.client(copy, database=database)
        for table, first in zip(_TABLES, ("id", "a", "id")):
            for reads in (f"SELECT * FROM {table} ORDER BY {first}",
                          f"SELECT COUNT(*) FROM {table}"):
                t.equal(theirs.query(reads), ours.query(reads), f"{database}: {reads}")
            t.check_table(table, ours)
            t.check_table(table, theirs)
        t.equal(theirs.query("SELECT id, s, x, CHAR_LENGTH(d->>'$.m') FROM j ORDER BY id"),
                [(1, "longer than before", 2, None), (2, "longer than before", 9, 30000)])


def test_documents_that_triggers_change_are_logged_whole(t):
    source, copy = t.new_server(binlog=True), t.new_server()
    source.start()
    client = t.client(source, database="d")
    client.execute("SET binlog_format = ROW, binlog_row_value_options = PARTIAL_JSON")
    for table, options in (("d", ""), ("moves", " PARTITION BY HASH (id) PARTITIONS 3")):
        for statement in (
                f"CREATE TABLE {table} (id INT PRIMARY KEY, k JSON, l JSON){options}",
                f"INSERT INTO {table} VALUES (1, JSON_OBJECT('a', 1, 's', REPEAT('x', 900)), "
                "'[1, 2]')",
                f"CREATE TRIGGER changes_{table} BEFORE UPDATE ON {table} FOR EACH ROW"
                " SET NEW.k = JSON_SET(NEW.k, '$.more', 7)",
                f"UPDATE {table} SET id = id + 1, k = JSON_SET(k, '$.a', 5),"
                " l = JSON_SET(l, '$[0]', 8)"):
            client.execute(statement)
    copy.start()
    replay(source, copy)
    other = t.client(copy, database="d")
    for table in ("d", "moves"):
        select = f"SELECT id, k, l FROM {table}"
        t.equal(other.query(select), client.query(select), table)
        t.equal(client.query(f"SELECT k->'$.more', k->'$.a' FROM {table}"), [("7", "5")])


def test_small_changes_of_large_documents_are_small_events(t):
    server = t.new_server(binlog=True)
    server.start()
    client = t.client(server)
    client.execute("SET binlog_row_image = MINIMAL, binlog_format = ROW,"
                   " binlog_row_value_options = PARTIAL_JSON")
    client.execute("CREATE TABLE j (id INT PRIMARY KEY, d JSON)")
    client.execute("INSERT INTO j VALUES (1, JSON_OBJECT('s', 'first', 'n', 1, 'pad', REPEAT('p',"
                   " 300000)))")

    def position():
        return int(client.query("SHOW BINARY LOG STATUS")[0][1])
    for change in ("JSON_SET(d, '$.s', 'other')", "JSON_REPLACE(d, '$.n', 2, '$.s', 'longer one')",
                   "JSON_SET(d, '$.new', JSON_ARRAY(1, 2))", "JSON_REMOVE(d, '$.new')"):
        before = position()
        client.execute(f"UPDATE j SET d = {change}")
        t.true(position() - before < 10000, f"{change}: {position() - before} bytes")
    t.equal(client.query("SELECT d->>'$.s', d->'$.n', LENGTH(d->>'$.pad'), JSON_LENGTH(d) FROM j"),
            [("longer one", "2", 300000, 3)])
