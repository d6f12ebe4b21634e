#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The tables ROWAN_* of INFORMATION_SCHEMA: they come and go with the engine."""
from framework import main

_UNKNOWN_TABLE = 1109
_TABLES = ("ROWAN_LOCKS", "ROWAN_LOCK_WAITS", "ROWAN_SYNC_LATENCY", "ROWAN_TRX")


def _installed(client):
    return [row[0] for row in client.query(
        "SELECT plugin_name FROM information_schema.plugins WHERE plugin_name LIKE 'ROWAN\\_%' "
        "AND plugin_status = 'ACTIVE' AND plugin_type = 'INFORMATION SCHEMA' ORDER BY 1")]


def _remembered(client):
    return [row[0].upper() for row in client.query(
        "SELECT name FROM mysql.plugin WHERE name LIKE 'ROWAN%' ORDER BY 1")]


def _check_present(t, client):
    t.equal(_installed(client), list(_TABLES))
    for table in _TABLES:
        client.query(f"SELECT * FROM information_schema.{table}")
    t.equal([row[0] for row in client.query(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = "
        "'information_schema' AND table_name LIKE 'ROWAN%' ORDER BY 1")], list(_TABLES))


def _check_start_is_quiet(t, server):
    complaints = [line for line in server.messages().splitlines()
                  if "rowan" in line.lower() and "unknown variable" not in line
                  and ("[Warning]" in line or "[ERROR]" in line)]
    t.equal(complaints, [])


def test_they_come_and_go_with_the_engine(t):
    if t.engine != "ROWAN":
        t.skip("about our plugin")
    server = t.new_server(binlog=True)
    server.start()
    client = server.client()
    _check_present(t, client)
    t.equal(_remembered(client), ["ROWAN", *_TABLES])
    t.equal(client.query("SHOW BINLOG EVENTS LIMIT 3, 10"), [])
    client.execute("UNINSTALL PLUGIN rowan")
    t.equal(_installed(client), [])
    t.equal(_remembered(client), [])
    t.error("SELECT * FROM information_schema.rowan_trx", _UNKNOWN_TABLE, client)
    client.execute("FLUSH TABLES WITH READ LOCK")  # the server's caches are empty
    client.execute("UNLOCK TABLES")
    client.execute("INSTALL PLUGIN rowan SONAME 'ha_rowan.so'")
    _check_present(t, client)
    # A library with more of them than the one that was installed: a start adds what is new.
    client.execute("UNINSTALL PLUGIN rowan_locks")
    server.restart()
    _check_start_is_quiet(t, server)
    client = server.client()
    _check_present(t, client)
    t.equal(_remembered(client), ["ROWAN", *_TABLES])
    # One that is being read keeps the engine.
    reader = server.client()
    reader.execute("BEGIN")
    reader.query("SELECT * FROM information_schema.rowan_trx")
    client.execute("UNINSTALL PLUGIN rowan")
    t.equal(_installed(client), [])
    t.error("SELECT * FROM information_schema.rowan_trx", _UNKNOWN_TABLE, reader)
    # What an option loads is not remembered.
    server.install_plugin = False
    for option, tables in (("ha_rowan.so", list(_TABLES)), ("rowan=ha_rowan.so", [])):
        server.restart((f"--plugin-load-add={option}",))
        _check_start_is_quiet(t, server)
        client = server.client()
        t.equal(_installed(client), tables)
        t.equal(_remembered(client), [])


def test_an_installation_that_is_held_up_ends(t):
    """Somebody who asks for a global lock meanwhile waits for the statement, not the other way."""
    if t.engine != "ROWAN":
        t.skip("about our plugin")
    client, other = t.server.client(), t.server.client()
    client.execute("UNINSTALL PLUGIN rowan")

    def lock():
        other.execute("FLUSH TABLES WITH READ LOCK")
        other.execute("UNLOCK TABLES")

    t.threads([lambda: client.execute("INSTALL PLUGIN rowan SONAME 'ha_rowan.so'"), lock])
    t.equal(client.value("SELECT COUNT(*) FROM information_schema.engines "
                         "WHERE engine = 'ROWAN'"), 1)
    # Nobody is left behind, whichever of them were refused.
    client.execute("UNINSTALL PLUGIN rowan")
    t.equal(_remembered(client), [])
    client.execute("INSTALL PLUGIN rowan SONAME 'ha_rowan.so'")
    _check_present(t, client)


if __name__ == "__main__":
    main(globals())
