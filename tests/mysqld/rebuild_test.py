# SPDX-License-Identifier: GPL-2.0-only
"""ALTER TABLE and OPTIMIZE that make a table anew while others write to it: what it is afterwards,
row by row; errors that values raise; all of it or nothing when the server dies."""
import os
import threading

from framework import MysqlError, needs_foreign_keys

_INPLACE = ", ALGORITHM=INPLACE, LOCK=NONE"
_REFUSED = (1845, 1846)


def _files(t, server=None):
    if t.engine != "ROWAN":
        return []
    return sorted(name for name in os.listdir((server or t.server).data / "rowan")
                  if name.endswith(".rws"))


def _fill(t, rows=300, table="a"):
    t.run(f"CREATE TABLE {table} (id INT PRIMARY KEY AUTO_INCREMENT, k INT, v VARCHAR(20), b BLOB,"
          " d DATETIME(3), e ENUM('x','y'), f BIT(11), n DECIMAL(12,4) NOT NULL, s CHAR(9),"
          " KEY k (k), UNIQUE KEY v (v), KEY de (d DESC, e), KEY b (b(7)))")
    t.run("SET SESSION cte_max_recursion_depth = 100000",
          f"INSERT INTO {table} (k, v, b, d, e, f, n, s) WITH RECURSIVE n (i) AS (SELECT 1"
          f" UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) SELECT NULLIF(i * 7 % 101, 3),"
          " IF(i % 11, CONCAT('v', i), NULL), REPEAT(CHAR(65 + i % 26), i % 17 * 1500),"
          " '2020-02-29 10:00:00.125' + INTERVAL i HOUR, ELT(i % 3, 'x', 'y'), i % 2048, i / 3,"
          " CONCAT('s', i % 5, '  ') FROM n")


_COLUMNS = "id, k, v, b, d, e, f + 0, n, s"

_REBUILDS = ("FORCE", "ENGINE=ROWAN", "ROW_FORMAT=DYNAMIC, FORCE", "MODIFY n DECIMAL(12,4) NULL",
             "MODIFY n DECIMAL(12,4) NOT NULL", "MODIFY s CHAR(9) FIRST", "MODIFY b BLOB AFTER s",
             "MODIFY f BIT(11) NOT NULL AFTER id, ADD COLUMN z INT DEFAULT 5 AFTER k",
             "DROP PRIMARY KEY, ADD PRIMARY KEY (n, id), ADD KEY id (id)",
             "DROP PRIMARY KEY, ADD PRIMARY KEY (s(2) DESC, id DESC)",
             "DROP PRIMARY KEY, ADD PRIMARY KEY (id), DROP KEY id, DROP KEY b,"
             " ADD KEY b2 (b(9), k),"
             " DROP z",
             "MODIFY v VARCHAR(400) FIRST", "RENAME COLUMN k TO kk, FORCE",
             "CHANGE kk k INT FIRST")


def test_rows_are_what_they_were(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's rebuild")
    _fill(t)
    before = t.run(f"SELECT {_COLUMNS} FROM a ORDER BY id")
    for change in _REBUILDS:
        files = _files(t)
        t.run(f"ALTER TABLE a {change}{_INPLACE}")
        t.true(len(_files(t)) == len(files) and _files(t) != files, f"one file anew: {change}")
        if change.startswith("RENAME COLUMN k "):
            continue
        t.rows(f"SELECT {_COLUMNS} FROM a ORDER BY id", before)
        t.check_table("a")
    t.run("OPTIMIZE TABLE a")
    t.rows("SELECT COUNT(*) FROM a FORCE INDEX (de) WHERE d > '2000-01-01'", [(300,)])
    t.run("INSERT INTO a (n, s, f) VALUES (1, 's', 1)")
    t.rows("SELECT MAX(id) > 300, COUNT(*) FROM a", [(1, 301)])
    t.server.restart()
    t._first = t.client()
    t.rows(f"SELECT {_COLUMNS} FROM a WHERE id < 301 ORDER BY id", before)
    t.check_table("a")


def test_a_table_without_primary_key(t):
    t.run("CREATE TABLE a (x INT, y VARCHAR(5), KEY (x))",
          "INSERT INTO a VALUES (3, 'c'), (1, 'a'), (NULL, 'n'), (1, 'a')",
          "DELETE FROM a WHERE x = 3", f"ALTER TABLE a FORCE{_INPLACE}",
          "INSERT INTO a VALUES (9, 'z')")
    t.rows("SELECT * FROM a", [(1, "a"), (None, "n"), (1, "a"), (9, "z")])
    t.error(f"ALTER TABLE a ADD PRIMARY KEY (x){_INPLACE}", 1138)
    t.run("DELETE FROM a WHERE x IS NULL")
    error = t.error(f"ALTER TABLE a ADD PRIMARY KEY (x){_INPLACE}", 1062)
    t.equal(error, "Duplicate entry '1' for key 'a.PRIMARY'", "the duplicate")
    t.run("DELETE FROM a WHERE x = 1 LIMIT 1", f"ALTER TABLE a ADD PRIMARY KEY (x){_INPLACE}")
    t.rows("SELECT * FROM a", [(1, "a"), (9, "z")])
    t.check_table("a")
    t.error(f"ALTER TABLE a DROP PRIMARY KEY{_INPLACE}", _REFUSED)
    t.run("DELETE FROM a", f"ALTER TABLE a FORCE{_INPLACE}")
    t.rows("SELECT COUNT(*) FROM a", [(0,)])
    t.check_table("a")


def test_values_that_do_not_fit(t):
    _fill(t)
    shown, files = t.run("SHOW CREATE TABLE a"), len(_files(t))
    t.error(f"ALTER TABLE a MODIFY k INT NOT NULL{_INPLACE}", 1138)
    error = t.error("ALTER TABLE a DROP PRIMARY KEY, ADD PRIMARY KEY (s(2)), ADD KEY (id)"
                    + _INPLACE, 1062)
    t.true(error.startswith("Duplicate entry 's") and error.endswith("'a.PRIMARY'"), error)
    error = t.error("ALTER TABLE a FORCE, DROP KEY v, ADD UNIQUE KEY u (k)" + _INPLACE, 1062)
    t.true(error.endswith("for key 'a.u'"), error)
    t.run("SET SESSION sql_mode = ''")
    t.error(f"ALTER TABLE a MODIFY k INT NOT NULL{_INPLACE}", _REFUSED)
    t.rows("SHOW CREATE TABLE a", shown)
    t.equal(len(_files(t)), files, "files")
    t.check_table("a")
    t.run("ALTER TABLE a MODIFY k INT NOT NULL")  # copies, NULL becomes 0
    t.rows("SELECT COUNT(*) FROM a WHERE k = 0", [(5,)])
    t.run("SET SESSION sql_mode = DEFAULT", "INSERT INTO a (k, n, d) VALUES (1, 1, '2020-01-01')")
    # Dates that today's sql_mode would refuse stay as they are.
    t.run("SET SESSION sql_mode = ''", "INSERT INTO a (k, n, d) VALUES (1, 1, '0000-00-00')",
          "SET SESSION sql_mode = DEFAULT", f"ALTER TABLE a FORCE{_INPLACE}")
    t.rows("SELECT COUNT(*) FROM a WHERE CAST(d AS CHAR) LIKE '0000%'", [(1,)])


def test_columns_that_came_at_once_are_folded(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's rows")
    _fill(t, 50)
    for number in range(4):
        t.run(f"ALTER TABLE a ADD COLUMN c{number} INT DEFAULT {number}, ALGORITHM=INSTANT",
              f"UPDATE a SET c{number} = id WHERE id % 5 = {number}")
    t.run("ALTER TABLE a DROP COLUMN c1, DROP COLUMN s, ALGORITHM=INSTANT")
    rows = t.run("SELECT * FROM a ORDER BY id")
    t.run(f"ALTER TABLE a FORCE{_INPLACE}")
    t.rows("SELECT * FROM a ORDER BY id", rows)
    for number in range(127 if t.long else 3):
        t.run(f"ALTER TABLE a ADD COLUMN x{number} INT, ALGORITHM=INSTANT")
    t.rows("SELECT c0, c2, x0 FROM a WHERE id = 5", [(5, 2, None)])
    t.check_table("a")


def test_generated_columns_and_other_indexes(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, j JSON, w TEXT, g GEOMETRY NOT NULL SRID 0,"
          " x INT AS (id * 2) VIRTUAL, y INT AS (id + 1) STORED, KEY x (x), KEY ((id % 7)),"
          " KEY m ((CAST(j AS SIGNED ARRAY))), FULLTEXT KEY w (w), SPATIAL KEY g (g))",
          "INSERT INTO a (id, j, w, g) VALUES (1, '[1, 2, 2]', 'one two', POINT(1, 1)),"
          " (2, '[]', 'two three', POINT(2, 2)), (3, NULL, NULL, POINT(3, 3))")
    lock = ", ALGORITHM=INPLACE" if t.engine == "ROWAN" else ""
    for change in ("FORCE", "MODIFY w TEXT NOT NULL FIRST",
                   "DROP PRIMARY KEY, ADD PRIMARY KEY (y)"):
        t.run("UPDATE a SET w = IFNULL(w, 'four')", f"ALTER TABLE a {change}{lock}")
        t.rows("SELECT id FROM a FORCE INDEX (x) WHERE x BETWEEN 3 AND 6 ORDER BY x", [(2,), (3,)])
        t.rows("SELECT id FROM a WHERE 2 MEMBER OF (j)", [(1,)])
        t.rows("SELECT id FROM a WHERE MATCH (w) AGAINST ('two') ORDER BY id", [(1,), (2,)])
        t.rows("SELECT id, y FROM a WHERE ST_Contains(ST_GeomFromText("
               "'POLYGON((1.5 1.5,2.5 1.5,2.5 2.5,1.5 2.5,1.5 1.5))'), g)", [(2, 3)])
        t.check_table("a")


def test_partitions_are_made_anew(t):
    t.run("CREATE TABLE a (id INT NOT NULL, k INT, v BLOB, KEY (k)) PARTITION BY HASH (id)"
          " PARTITIONS 3",
          "INSERT INTO a VALUES (1, 1, REPEAT('a', 30000)), (2, 2, 'b'), (3, 3, '')")
    if t.engine == "ROWAN":
        t.run("ALTER TABLE a ADD PRIMARY KEY (id), MODIFY k INT NOT NULL FIRST" + _INPLACE)
        t.rows("SELECT id, k, LENGTH(v) FROM a ORDER BY id", [(1, 1, 30000), (2, 2, 1), (3, 3, 0)])
        t.error("INSERT INTO a VALUES (1, 1, '')", 1062)
        t.check_table("a")
    t.run("FLUSH TABLES")
    t.rows("SELECT COUNT(*) FROM a PARTITION (p1)", [(1,)])
    t.check_table("a")


@needs_foreign_keys
def test_foreign_keys_go_on(t):
    t.run("CREATE TABLE p (id INT PRIMARY KEY, u INT NOT NULL, UNIQUE KEY (u))",
          "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (u)"
          " ON UPDATE CASCADE)", "INSERT INTO p VALUES (1, 10), (2, 20)",
          "INSERT INTO c VALUES (1, 10), (2, 10)", f"ALTER TABLE p FORCE{_INPLACE}",
          f"ALTER TABLE c FORCE{_INPLACE}", "UPDATE p SET u = 11 WHERE id = 1")
    t.rows("SELECT p FROM c", [(11,), (11,)])
    t.error("INSERT INTO c VALUES (3, 12)", 1452)
    t.error("DELETE FROM p WHERE id = 1", 1451)
    t.check_table("c")


def test_another_name_at_once(t):
    _fill(t, 20)
    t.run("ALTER TABLE a RENAME TO b, FORCE, AUTO_INCREMENT = 1000" + _INPLACE,
          "INSERT INTO b (n) VALUES (1)")
    t.rows("SELECT MAX(id), COUNT(*) FROM b", [(1000, 21)])
    t.check_table("b")
    t.run("DROP TABLE b")


def test_an_older_snapshot_is_refused(t):
    _fill(t, 20)
    old = t.client()
    old.query("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    t.run(f"ALTER TABLE a FORCE{_INPLACE}")
    t.error("SELECT COUNT(*) FROM a", 1412, client=old)
    old.query("COMMIT")
    t.equal(old.query("SELECT COUNT(*) FROM a"), [(20,)], "later")


def _write(t, stop, number, turns):
    """Rows of its own, and some of everybody's; each change goes to the twin as well."""
    client, random, turn = t.client(), t.random, 0
    while not stop.is_set() or turn < 20:
        turn += 1
        base = 1_000_000 * (number + 1) + turn % 200
        shared = random.randrange(1, 2000)
        try:
            client.query("BEGIN")
            for table in ("a", "twin"):
                client.query(f"REPLACE INTO {table} (id, k, v, b, n) VALUES ({base}, {turn},"
                             f" 'w{base}', REPEAT('r', {turn % 5 * 6000}), {turn})")
                client.query(f"UPDATE {table} SET id = id + 500, n = n + 1, v = CONCAT('u', id)"
                             f" WHERE id = {base - 7}")
                client.query(f"DELETE FROM {table} WHERE id IN ({base - 50}, {base - 60} + 500)")
                client.query(f"UPDATE {table} SET k = {turn}, b = REPEAT('s', {turn % 4 * 5000})"
                             f" WHERE id = {shared}")
            client.query("ROLLBACK" if turn % 5 == 0 else "COMMIT")
        except MysqlError as error:
            if error.code not in (1062, 1205, 1213):  # the turns come round again
                raise
            client.query("ROLLBACK")
    turns.append(turn)


def test_writers_are_followed(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's rebuild")
    _fill(t, 6000 if t.long else 3000)
    t.run("ALTER TABLE a ADD KEY n (n)", "CREATE TABLE twin LIKE a",
          "INSERT INTO twin SELECT * FROM a", "SET SESSION lock_wait_timeout = 60")
    stop, turns = threading.Event(), []
    writers = [threading.Thread(target=_write, args=(t, stop, n, turns)) for n in range(3)]
    for writer in writers:
        writer.start()
    try:
        for change in ("FORCE", "DROP PRIMARY KEY, ADD PRIMARY KEY (n, id), ADD KEY id (id)",
                       "MODIFY v VARCHAR(20) FIRST, MODIFY n DECIMAL(12,4) NULL AFTER k, DROP"
                       " PRIMARY KEY, ADD PRIMARY KEY (id), DROP KEY id", "FORCE"):
            t.run(f"ALTER TABLE a {change}{_INPLACE}")
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    t.equal(len(turns), 3, "writers that came to their end")
    t.check_table("a")
    t.rows(f"SELECT {_COLUMNS} FROM a ORDER BY id",
           t.run(f"SELECT {_COLUMNS} FROM twin ORDER BY id"))


def test_kill_while_a_table_is_rebuilt(t):
    _fill(t, 8000)
    files = len(_files(t))
    worker = t.client()
    number = worker.query("SELECT CONNECTION_ID()")[0][0]
    t.amid(worker, ["ALTER TABLE a DROP PRIMARY KEY, ADD PRIMARY KEY (n, id), ADD KEY (id)"], 0.2,
           lambda: t.run(f"KILL QUERY {number}"))
    t.check_table("a")
    t.rows("SELECT COUNT(*) FROM a", [(8000,)])
    t.wait_for(lambda: len(_files(t)) == files, "the file that is left over is gone")


def test_kill_9_leaves_the_old_or_the_new_table(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's files")
    server = t.new_server(binlog=True)
    server.start()
    client = t.client(server)
    client.query("CREATE TABLE a (id INT PRIMARY KEY, k INT NOT NULL, v BLOB, KEY (k))")
    client.query("SET SESSION cte_max_recursion_depth = 100000")
    client.query("INSERT INTO a WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                 " WHERE i < 6000) SELECT i, i * 7 % 1013, REPEAT('v', i % 9 * 900) FROM n")
    rows = client.query("SELECT id, k, v FROM a ORDER BY id")
    files = len(_files(t, server))
    for turn in range(20 if t.long else 3):
        change = ("FORCE", "DROP PRIMARY KEY, ADD PRIMARY KEY (k, id)",
                  "DROP PRIMARY KEY, ADD PRIMARY KEY (id)")[turn % 3]
        t.amid(client, [f"ALTER TABLE a {change}{_INPLACE}"], 0.3, server.kill)
        server.start()
        client = t.client(server)
        t.check_table("a", client=client)
        t.equal(client.query("SELECT id, k, v FROM a ORDER BY id"), rows, "rows")
        t.wait_for(lambda: len(_files(t, server)) == files, "no file is left over")
