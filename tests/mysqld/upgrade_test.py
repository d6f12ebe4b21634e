# SPDX-License-Identifier: GPL-2.0-only
"""An instance made by an older plugin: opened by today's, used, and refused by the older one again.

ROWAN_TEST_OLD_PLUGIN names the older ha_rowan.so; without it there is nothing to compare with.
tests/engine/upgrade_test.cc has instances of old formats that need no older plugin.
"""
import os
from pathlib import Path

from rowantools.paths import UserError

_ROWS = 3000


def _old_plugin(t):
    name = os.environ.get("ROWAN_TEST_OLD_PLUGIN")
    if not name:
        t.skip("no older plugin: ROWAN_TEST_OLD_PLUGIN is not set")
    return Path(name)


def _fill(t, client, first, last):
    for start in range(first, last, 500):
        rows = ", ".join(f"({n}, {n % 97}, 'name {n % 50:03}', REPEAT('v', {n % 300}))"
                         for n in range(start, min(start + 500, last)))
        client.execute(f"INSERT INTO plain VALUES {rows}")
    for n in range(first, first + 40):
        client.execute(f"INSERT INTO wide (t, j) VALUES (REPEAT('long ', {n * 50}), "
                       f"JSON_OBJECT('n', {n}))")
        client.execute(f"INSERT INTO prefixed VALUES ('some name {n % 7} that goes on', {n}, {n})")


def _make(t, client):
    client.execute("CREATE TABLE plain (id INT PRIMARY KEY, k INT, name VARCHAR(40), "
                   "v VARCHAR(300), KEY (k), UNIQUE KEY (name, id))")
    client.execute("CREATE TABLE wide (id INT AUTO_INCREMENT PRIMARY KEY, t LONGTEXT, j JSON)")
    client.execute("CREATE TABLE prefixed (name VARCHAR(60), id INT, n INT, "
                   "PRIMARY KEY (name(10), id), KEY (name), KEY (name(10)), KEY (n))")
    _fill(t, client, 1, _ROWS)
    client.execute("UPDATE plain SET k = k + 1 WHERE id % 3 = 0")
    client.execute("DELETE FROM plain WHERE id % 10 = 0")
    client.execute("DELETE FROM wide WHERE id % 4 = 0")


def _state(client):
    return [client.query(f"SELECT * FROM {table} ORDER BY id") for table in
            ("plain", "wide", "prefixed")]


def _check(t, client, expected):
    for table in ("plain", "wide", "prefixed"):
        t.check_table(table, client)
    t.equal(_state(client), expected, "rows of the old instance")
    rows = expected[0]
    t.equal(client.query("SELECT id, k FROM plain FORCE INDEX (k) WHERE k = 5 ORDER BY id"),
            [(row[0], row[1]) for row in rows if row[1] == 5], "by the secondary index")
    names = sorted(row[0] for row in expected[2])
    for index in ("name", "name_2"):
        t.equal([row[0] for row in client.query(
            f"SELECT name FROM prefixed FORCE INDEX ({index}) WHERE name LIKE 'some name 3%'")],
            [name for name in names if name.startswith("some name 3")], index)


def _rebuild_prefixed(t, server, client):
    """Keys of early versions that the optimizer must not search, until the table is rebuilt."""
    search = "SELECT id FROM prefixed FORCE INDEX (name) WHERE name = 'some name 3 that goes on' " \
             "AND id BETWEEN 10 AND 30 ORDER BY id"
    expected = [(n,) for n in range(10, 31) if n % 7 == 3]
    key = 6  # column of EXPLAIN
    t.true(client.query("EXPLAIN FORMAT=TRADITIONAL " + search)[0][key] != "name", "index is used")
    t.equal(client.query(search), expected, "before the table is rebuilt")
    t.true("until it is rebuilt" in server.messages(), "no warning of indexes that are not used")
    client.execute("ALTER TABLE prefixed FORCE")
    t.equal(client.query("EXPLAIN FORMAT=TRADITIONAL " + search)[0][key], "name", "index used")
    t.equal(client.query(search), expected, "after the table was rebuilt")


def _run_the_old(t, ending, options=()):
    """A server whose folder an old plugin has left; its tables' rows."""
    server = t.new_server([*options, "--loose-rowan-redo-log-capacity=8M"])
    today, server.plugin = server.plugin, _old_plugin(t)
    server.start()
    client = t.client(server)
    _make(t, client)
    if ending == "kill":
        # With something to undo and much to redo.
        client.execute("BEGIN")
        client.execute("UPDATE plain SET v = 'never committed' WHERE id < 1000")
        expected = _state(t.client(server))
        t.client(server).execute("INSERT INTO prefixed VALUES ('last', 100000, 1)")
        expected[2] = t.client(server).query("SELECT * FROM prefixed ORDER BY id")
        server.kill()
    else:
        expected = _state(client)
        server.stop()
    server.plugin = today
    return server, expected


def _use_today(t, server, expected):
    server.start()
    client = t.client(server)
    _check(t, client, expected)
    _rebuild_prefixed(t, server, client)
    client.execute("UPDATE plain SET k = 5 WHERE id % 50 = 1")
    _fill(t, client, _ROWS, _ROWS + 500)
    expected = _state(client)
    server.kill()
    server.start()
    client = t.client(server)
    _check(t, client, expected)
    server.restart()
    _check(t, t.client(server), expected)
    server.stop()
    return expected


def _refused_by_the_old(t, server, expected):
    today, server.plugin = server.plugin, _old_plugin(t)
    try:
        server.start()
        # The server goes on without the engine.
        t.error("SELECT COUNT(*) FROM plain", (1286, 1146, 1030, 1812, 3719), t.client(server))
    except UserError:
        pass
    t.true("newer version" in server.messages() or "this build knows" in server.messages(),
           "no sentence about the newer format: " + server.messages()[-1500:])
    server.stop()
    server.plugin = today
    server.start()
    _check(t, t.client(server), expected)


def test_after_a_clean_shutdown(t):
    server, expected = _run_the_old(t, "stop")
    _refused_by_the_old(t, server, _use_today(t, server, expected))


def test_after_a_crash(t):
    server, expected = _run_the_old(t, "kill")
    _use_today(t, server, expected)


def test_small_pages_after_a_crash(t):
    server, expected = _run_the_old(t, "kill", ["--loose-rowan-page-size=4096"])
    _use_today(t, server, expected)


def test_a_log_with_the_end_of_the_binary_log(t):
    """An older plugin refuses it after a crash, and takes it after a shutdown."""
    old = _old_plugin(t)
    server = t.new_server(["--sync-binlog=0", "--loose-rowan-binlog-in-redo=ON"], binlog=True)
    server.start()
    client = t.client(server)
    _make(t, client)
    expected = _state(client)
    server.kill()
    _refused_by_the_old(t, server, expected)
    server.stop()
    today, server.plugin = server.plugin, old
    server.start()
    _check(t, t.client(server), expected)
    server.stop()
    server.plugin = today
