#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What keeps a server's Rowan instance from opening, and that the refusal harms nothing."""
import os
import shutil

from framework import main
from rowantools.client import MysqlError


def _rowan_runs(server):
    with server.client() as client:
        rows = client.query("SELECT support FROM information_schema.engines WHERE engine = 'ROWAN'")
    return bool(rows) and rows[0][0] in ("YES", "DEFAULT")


def _try_to_start(server, options=()):
    """True if the server runs with Rowan; its messages say why not."""
    try:
        server.start(options)
    except Exception:  # whatever keeps it from starting: the error log must say why
        return False
    return _rowan_runs(server)


def test_two_servers_one_folder(t):
    shared = os.path.join(str(t.server.folder), "shared")
    options = [f"--loose-rowan-data-home-dir={shared}"]
    first, second = (t.new_server(options) for _ in range(2))
    try:
        first.start()
        client = t.client(first)
        client.execute("CREATE TABLE kept (id INT PRIMARY KEY, v INT)")
        client.execute("INSERT INTO kept VALUES (1, 10), (2, 20)")
        t.true(not _try_to_start(second), "a second server opened the folder")
        t.true("another process has the instance open" in second.messages(), second.messages())
        second.kill()
        client.execute("INSERT INTO kept VALUES (3, 30)")
        t.equal(int(client.value("SELECT SUM(v) FROM kept")), 60)
        t.check_table("kept", client)
        # The lock dies with its process: the next start needs nobody's help.
        first.kill()
        first.start()
        t.equal(int(t.client(first).value("SELECT SUM(v) FROM kept")), 60)
        t.true(first.stop(), "no orderly shutdown")
        t.true(_try_to_start(second), second.messages())
    except MysqlError as error:
        t.true(False, f"{error}: {first.messages()}")
    finally:
        first.kill()
        second.kill()
        shutil.rmtree(shared, ignore_errors=True)


def _default_engines(server):
    with server.client() as client:
        return client.query("SELECT @@global.default_storage_engine, @@default_storage_engine, "
                            "@@default_tmp_storage_engine")[0]


def test_default_engine_after_restart(t):
    """The server loads installed plugins before it looks for its default engine."""
    server = t.new_server()
    server.option_file = server.folder / "my.cnf"
    server.option_file.write_text("[mysqld]\n")
    server.start()
    with server.client() as client:
        client.execute("SET PERSIST default_storage_engine = ROWAN, "
                       "PERSIST default_tmp_storage_engine = ROWAN")
    server.restart()
    t.equal(_default_engines(server), ("ROWAN",) * 3, "persisted")
    # Without Rowan a persisted default is lost for this start, with a message.
    server.stop()
    server.install_plugin = False
    server.start(["--rowan=OFF"])
    t.equal(_default_engines(server), ("InnoDB",) * 3, "persisted, without Rowan")
    t.true("Unknown storage engine 'ROWAN'" in server.messages(), server.messages())
    # The option file's is kept, or the server does not start.
    server.stop()
    (server.data / "mysqld-auto.cnf").unlink()
    server.option_file.write_text("[mysqld]\ndefault-storage-engine = ROWAN\n")
    t.true(not _try_to_start(server, ["--rowan=OFF"]), "started without its default engine")
    t.true("Unknown/unsupported storage engine: ROWAN" in server.messages(), server.messages())
    server.kill()
    server.start()
    t.equal(_default_engines(server), ("ROWAN", "ROWAN", "InnoDB"), "option file")


if __name__ == "__main__":
    main(globals())
