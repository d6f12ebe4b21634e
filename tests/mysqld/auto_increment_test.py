# SPDX-License-Identifier: GPL-2.0-only
"""rowan_autoinc_lock_mode beside innodb_autoinc_lock_mode: which values rows get, who waits."""
import threading


_ENGINES = ("ROWAN", "InnoDB")
_ER_WRONG_AUTO_KEY, _ER_LOCK_WAIT_TIMEOUT = 1075, 1205


def _counter(client, name):
    """As SHOW CREATE TABLE has it; empty: nothing was taken."""
    return client.query(f"SHOW CREATE TABLE {name}")[0][1].partition("AUTO_INCREMENT=")[2].split(
        " ")[0]


def _values(client, engine, mode):
    """Ids that statements give to rows, and the counter behind them."""
    name = f"a_{engine}_{mode}".lower()
    client.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY AUTO_INCREMENT, v INT UNIQUE) "
                   f"ENGINE={engine}")
    statements = (f"INSERT INTO {name} (v) VALUES (1), (2), (3)",
                  f"INSERT INTO {name} (v) SELECT v + 10 FROM {name}",
                  f"INSERT INTO {name} (v) VALUES (1)",
                  f"INSERT IGNORE INTO {name} (v) VALUES (1), (30)",
                  f"INSERT INTO {name} VALUES (40, 40), (NULL, 41), (50, 50)",
                  f"INSERT INTO {name} VALUES (60, 60)",
                  f"REPLACE INTO {name} (v) VALUES (60)",
                  f"INSERT INTO {name} (v) VALUES (2) ON DUPLICATE KEY UPDATE v = 70",
                  f"INSERT INTO {name} (v) VALUES (80)")
    seen = []
    for statement in statements:
        seen.append(client.error_code(statement))
        seen.append(client.query(f"SELECT id, v FROM {name} ORDER BY id"))
        seen.append(_counter(client, name))
    return seen


def _values_in_partitions(client, engine, mode):
    """As _values; unique keys would have to have the partitions' column in them."""
    name = f"p_{engine}_{mode}".lower()
    client.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY AUTO_INCREMENT, v INT, "
                   f"CHECK (v <> 99)) ENGINE={engine} PARTITION BY HASH (id) PARTITIONS 3")
    statements = (f"INSERT INTO {name} (v) VALUES (1), (2), (3)",
                  f"INSERT INTO {name} (v) SELECT v + 10 FROM {name}",
                  f"INSERT INTO {name} (v) VALUES (99)",
                  f"INSERT IGNORE INTO {name} VALUES (1, 2), (NULL, 30), (NULL, 99)",
                  f"INSERT INTO {name} VALUES (40, 40), (NULL, 41), (50, 50)",
                  f"REPLACE INTO {name} VALUES (50, 51), (NULL, 52)",
                  f"INSERT INTO {name} VALUES (2, 2), (NULL, 3) ON DUPLICATE KEY UPDATE v = 70",
                  f"UPDATE {name} SET id = 200 WHERE id = 50",
                  f"INSERT INTO {name} (v) VALUES (80)")
    return [(client.error_code(statement), client.query(f"SELECT id, v FROM {name} ORDER BY id"),
             _counter(client, name)) for statement in statements]


def _ids_of_inserts_beside_each_other(t, server, engine, mode):
    """Of a partitioned table: no mode makes an insert wait for the counter."""
    owner, first, second = (t.client(server) for _ in range(3))
    name = f"b_{engine}_{mode}".lower()
    owner.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY AUTO_INCREMENT, v INT) "
                  f"ENGINE={engine} PARTITION BY HASH (id) PARTITIONS 3")
    owner.execute(f"CREATE TRIGGER {name}_stop BEFORE INSERT ON {name} FOR EACH ROW "
                  "SET NEW.v = IF(NEW.v = 3, 3 * GET_LOCK('stop', 60), NEW.v)")
    owner.query("SELECT GET_LOCK('stop', 60)")
    rows = "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4"
    thread = threading.Thread(target=lambda: first.execute(f"INSERT INTO {name} (v) {rows}"))
    thread.start()
    t.wait_for(lambda: owner.value("SELECT COUNT(*) FROM information_schema.processlist "
                                   "WHERE state = 'User lock'") == 1, "the first insert has begun")
    second.execute(f"INSERT INTO {name} (v) VALUES (9)")
    owner.query("SELECT RELEASE_LOCK('stop')")
    thread.join()
    first.query("SELECT RELEASE_LOCK('stop')")
    return owner.query(f"SELECT id, v FROM {name} ORDER BY id")


def _waits(t, server, engine, mode, blocked):
    """Whether a second insert waits for the AUTO_INCREMENT lock of one that waits for a row."""
    owner, first, second = (t.client(server) for _ in range(3))
    name = f"w_{engine}_{mode}_{blocked}".lower()
    owner.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY AUTO_INCREMENT, v INT UNIQUE) "
                  f"ENGINE={engine}")
    owner.execute("BEGIN")
    owner.execute(f"INSERT INTO {name} VALUES (1000, 3)")
    rows = {"simple": "VALUES (1), (2), (3), (4)",
            "bulk": "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4"}[blocked]
    thread = threading.Thread(target=lambda: first.execute(f"INSERT INTO {name} (v) {rows}"))
    thread.start()
    t.wait_for(lambda: int(_counter(second, name) or 0) > 1001, "the first insert has begun")
    second.execute("SET SESSION innodb_lock_wait_timeout = 1")
    error = second.error_code(f"INSERT INTO {name} (v) VALUES (9)")
    t.true(error in (0, _ER_LOCK_WAIT_TIMEOUT), f"error {error}")
    owner.execute("ROLLBACK")
    thread.join()
    ids = [row[0] for row in owner.query(f"SELECT id FROM {name} WHERE v < 9 ORDER BY v")]
    if blocked == "simple" or mode != 2:
        t.equal(ids, list(range(ids[0], ids[0] + 4)), "values of one statement")
    return error != 0


def test_lock_modes(t):
    if t.engine != "ROWAN":
        t.skip("compares both engines itself")
    server = t.new_server()
    for mode in (0, 1, 2):
        server.start((f"--loose-rowan-autoinc-lock-mode={mode}",
                      f"--innodb-autoinc-lock-mode={mode}"))
        client = t.client(server)
        t.equal(client.value("SELECT @@rowan_autoinc_lock_mode"), mode)
        rowan, innodb = (_values(client, engine, mode) for engine in _ENGINES)
        t.equal(rowan, innodb, f"mode {mode}")
        rowan, innodb = (_values_in_partitions(client, engine, mode) for engine in _ENGINES)
        t.equal(rowan, innodb, f"mode {mode}, partitions")
        for engine in _ENGINES:
            t.equal(_ids_of_inserts_beside_each_other(t, server, engine, mode),
                    [(1, 1), (2, 2), (3, 3), (4, 9), (5, 4)], f"{engine}, mode {mode}, beside")
        for blocked, expected in (("simple", mode == 0), ("bulk", mode != 2)):
            for engine in _ENGINES if t.long else _ENGINES[:1]:
                t.equal(_waits(t, server, engine, mode, blocked), expected,
                        f"{engine}, mode {mode}, {blocked}")
        t.true(server.stop(), "no orderly stop")


def test_the_counter_is_the_first_part_of_a_key(t):
    for engine in _ENGINES if t.engine == "ROWAN" else (t.engine,):
        t.error(f"CREATE TABLE second (a INT, id INT AUTO_INCREMENT, PRIMARY KEY (a, id)) "
                f"ENGINE={engine}", _ER_WRONG_AUTO_KEY)
        t.run(f"CREATE TABLE first_{engine} (a INT, id INT AUTO_INCREMENT, PRIMARY KEY (a, id), "
              f"KEY (id, a)) ENGINE={engine}",
              f"INSERT INTO first_{engine} (a) VALUES (2), (1), (2)")
        t.rows(f"SELECT a, id FROM first_{engine} ORDER BY id", [(2, 1), (1, 2), (2, 3)])
