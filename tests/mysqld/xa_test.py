# SPDX-License-Identifier: GPL-2.0-only
"""Prepared XA transactions: what waits for them after a restart, and uninstalling the plugin."""

_LOCK_WAIT_TIMEOUT, _IN_USE = 1205, 1883


def _prepare(client, name, *statements):
    client.execute(f"XA START '{name}'")
    for statement in statements:
        client.execute(statement)
    client.execute(f"XA END '{name}'")
    client.execute(f"XA PREPARE '{name}'")


def _changed_tables_are_kept(t, crash):
    """No DDL on what a prepared transaction changed, whether it commits in the end or not."""
    server = t.new_server()
    server.start()
    client = t.client(server)
    for table in ("ta", "`odd-näme #1`", "first", "untouched"):
        client.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, a INT, KEY (a))")
        client.execute(f"INSERT INTO {table} VALUES (1, 1), (2, 2)")
    client.execute("RENAME TABLE first TO renamed")
    _prepare(client, "kept", "INSERT INTO ta VALUES (11, 11)", "UPDATE ta SET a = 100 WHERE id = 1",
             "DELETE FROM `odd-näme #1` WHERE id = 2", "SELECT * FROM untouched")
    _prepare(client, "dropped", "UPDATE renamed SET a = 7")
    if crash:
        server.kill()
    else:
        t.true(server.stop(), "no orderly stop")
    server.start()
    client = t.client(server)
    client.execute("SET SESSION lock_wait_timeout = 1")
    for statement in ("ALTER TABLE ta ADD COLUMN z INT", "TRUNCATE TABLE ta",
                      "DROP TABLE `odd-näme #1`", "RENAME TABLE renamed TO other"):
        t.error(statement, _LOCK_WAIT_TIMEOUT, client)
    client.execute("ALTER TABLE untouched ADD COLUMN z INT")
    t.equal(client.query("SELECT id, a FROM ta ORDER BY id"), [(1, 1), (2, 2)])
    client.execute("XA COMMIT 'kept'")
    client.execute("XA ROLLBACK 'dropped'")
    for statement in ("ALTER TABLE ta ADD COLUMN z INT", "ALTER TABLE `odd-näme #1` FORCE",
                      "ALTER TABLE renamed FORCE"):
        client.execute(statement)
    t.equal(client.query("SELECT id, a FROM ta ORDER BY id"), [(1, 100), (2, 2), (11, 11)])
    t.equal(client.query("SELECT id, a FROM `odd-näme #1`"), [(1, 1)])
    t.equal(client.query("SELECT id, a FROM renamed ORDER BY id"), [(1, 1), (2, 2)])


def test_ddl_waits_for_prepared_after_a_clean_restart(t):
    _changed_tables_are_kept(t, crash=False)


def test_ddl_waits_for_prepared_after_a_crash(t):
    _changed_tables_are_kept(t, crash=True)


def test_an_installation_at_run_time_finds_prepared_transactions(t):
    """The server asks engines for them only at its start."""
    if t.engine != "ROWAN":
        t.skip("about our plugin")
    server = t.new_server()
    server.start()
    client = t.client(server)
    client.execute("CREATE TABLE ta (id INT PRIMARY KEY)")
    _prepare(client, "early", "INSERT INTO ta VALUES (1)")
    t.true(server.stop(), "no orderly stop")
    plugin = server.plugin
    server.plugin, server.install_plugin = server.folder / "absent.so", False
    (server.folder / "plugins" / "ha_rowan.so").unlink()
    server.start()
    with server.client() as other:
        other.execute("DELETE FROM mysql.plugin WHERE name = 'ROWAN'")
    t.true(server.stop(), "no orderly stop")
    server.plugin, server.install_plugin = plugin, True
    server.start()
    client = t.client(server)
    t.equal([row[3] for row in client.query("XA RECOVER")], ["early"])
    client.execute("SET SESSION lock_wait_timeout = 1")
    t.error("ALTER TABLE ta ADD COLUMN a INT", _LOCK_WAIT_TIMEOUT, client)
    client.execute("XA COMMIT 'early'")
    client.execute("ALTER TABLE ta ADD COLUMN a INT")
    t.equal(client.query("SELECT id FROM ta"), [(1,)])


def test_plugin_stays_while_it_is_used(t):
    if t.engine != "ROWAN":
        t.skip("about our plugin")
    server = t.new_server()
    server.start()
    client = server.client()
    client.execute("CREATE DATABASE r")
    client.execute("CREATE TABLE r.t (id INT PRIMARY KEY) ENGINE=ROWAN")
    client.execute("FLUSH TABLES")
    t.uninstall(client)  # the session that says it does not keep it
    server.install_rowan()
    _prepare(client, "x1", "INSERT INTO r.t VALUES (7)")
    client.execute("FLUSH TABLES")
    message = t.error("UNINSTALL PLUGIN rowan", _IN_USE, client)
    t.true("prepared (1)" in message, message)
    t.equal(client.query("SELECT * FROM r.t"), [])
    client.execute("XA COMMIT 'x1'")
    t.equal(client.query("SELECT * FROM r.t"), [(7,)])
    message = t.error("UNINSTALL PLUGIN rowan", _IN_USE, client)
    t.true("FLUSH TABLES" in message, message)
    with server.client() as other:
        other.execute("BEGIN")
        other.execute("INSERT INTO r.t VALUES (8)")
        t.error("UNINSTALL PLUGIN rowan", _IN_USE, client)
    client.execute("FLUSH TABLES")
    t.uninstall(client)
    server.install_rowan()
    t.equal(client.query("SELECT * FROM r.t"), [(7,)])
