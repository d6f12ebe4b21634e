# SPDX-License-Identifier: GPL-2.0-only
"""FLUSH TABLES ... FOR EXPORT, DISCARD and IMPORT TABLESPACE that are cut short, by KILL, by a full
disk and by a crash: the table is what it was or what it was to be, and no file is left over."""
import os
import shutil
import time

from framework import Failure
from small_disk import SmallDisk

_TABLE = ("CREATE TABLE a (id INT PRIMARY KEY, k INT, v VARCHAR(2000), b BLOB, KEY (k),"
          " KEY (v(30), k)) ENGINE=ROWAN")
_FULL = (1021, 1114, 1026, 1030)
_EXPORT = "FLUSH TABLES a FOR EXPORT"
_DISCARD, _IMPORT = (f"ALTER TABLE a {action} TABLESPACE" for action in ("DISCARD", "IMPORT"))


def _rowan_only(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's files")


def _fill(client, rows=6000):
    client.query(_TABLE)
    client.query("SET SESSION cte_max_recursion_depth = 100000")
    client.query("INSERT INTO a WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                 f" WHERE i < {rows}) SELECT i, i * 7 % 1013, REPEAT(CHAR(65 + i % 26), 900),"
                 " IF(i % 100, NULL, REPEAT('b', 20000)) FROM n")


def _read(client):
    """What the table holds; None: it is discarded."""
    if client.error_code("SELECT 1 FROM a LIMIT 1") == 1814:
        return None
    return client.query("SELECT COUNT(*), SUM(CRC32(CONCAT_WS('/', id, k, v, b))) FROM a")


class _Files:
    """Those of the table's server: engine tables, scratch, and exports of table a."""

    def __init__(self, t, server, home=None):
        self._t, self._home = t, home or server.data / "rowan"
        self.export = server.data / t.database / "a.rwx"
        self._spaces = self._tables()

    def _tables(self):
        return len([name for name in os.listdir(self._home) if name.endswith(".rws")])

    def expect_none_left(self):
        self._t.wait_for(lambda: self._tables() == self._spaces, "no file of a table is left over")
        self._t.equal([name for name in os.listdir(self._home) if "sort_" in name], [], "scratch")
        self._t.equal([name for name in os.listdir(self.export.parent)], [],
                      "exports")


def _export(client, files, kept):
    """Returns how many seconds it took."""
    begin = time.monotonic()
    client.query(_EXPORT)
    took_s = time.monotonic() - begin
    shutil.copy(files.export, kept)
    client.query("UNLOCK TABLES")
    return took_s


class _Killer:
    """Runs statements and kills them some time later; counts how many were."""

    def __init__(self, t):
        self._t, self.client, self._other = t, t.client(), t.client()
        self._number = self.client.query("SELECT CONNECTION_ID()")[0][0]
        self.killed = 0

    def run(self, statement, within_s):
        """Whether it was killed."""
        failed = self._t.amid(self.client, [statement], within_s,
                              lambda: self._other.query(f"KILL QUERY {self._number}"))
        self.client.error_code("DO 0")  # where a kill that came too late goes
        if failed and failed[0].code != 1317:
            raise Failure(f"{statement}: {failed[0]}")
        self.killed += len(failed)
        return bool(failed)


def test_kill(t):
    _rowan_only(t)
    killer = _Killer(t)
    client = killer.client
    _fill(client)
    rows, files = _read(client), _Files(t, t.server)
    kept = t.server.folder / "kept"
    export_s = _export(client, files, kept)
    for _ in range(3):
        killer.run(_EXPORT, export_s)
        client.query("UNLOCK TABLES")
        files.expect_none_left()
        client.query("UPDATE a SET k = k WHERE id = 1")
    for _ in range(4):
        killed = killer.run(_DISCARD, 0.01)
        t.equal(_read(client), rows if killed else None, "after a DISCARD")
        if killed:
            files.expect_none_left()
            client.query(_DISCARD)
        shutil.copy(kept, files.export)
        killed = killer.run(_IMPORT, 2 * export_s)
        t.equal(_read(client), None if killed else rows, "after an IMPORT")
        if killed:
            client.query(_IMPORT)
            t.equal(_read(client), rows, "after another IMPORT")
        files.export.unlink()
        files.expect_none_left()
        t.check_table("a", client=client)
    print(f"killed: {killer.killed} of 11", flush=True)


def test_an_export_that_finds_no_room(t):
    _rowan_only(t)
    client = t.client()
    _fill(client)
    rows, files = _read(client), _Files(t, t.server)
    with SmallDisk(t, 2, files.export.parent):
        t.error(_EXPORT, _FULL, client=client)
        client.query("UNLOCK TABLES")
        files.expect_none_left()
        t.equal(_read(client), rows)
        t.client().query("UPDATE a SET k = k + 1 WHERE id = 1")


def test_an_import_that_finds_no_room(t):
    _rowan_only(t)
    with SmallDisk(t, 250) as disk:
        server = t.new_server(options=["--loose-rowan-redo-log-capacity=16M",
                                       f"--loose-rowan-data-home-dir={disk.folder}/rowan"])
        try:
            server.start()
            client = t.client(server)
            _fill(client, 30000)  # more than the engine might give back meanwhile
            rows, files = _read(client), _Files(t, server, disk.folder / "rowan")
            kept = t.server.folder / "kept"
            _export(client, files, kept)
            client.query(_DISCARD)
            files.expect_none_left()
            shutil.copy(kept, files.export)
            with disk.full(left_bytes=1 << 19):
                t.error(_IMPORT, _FULL, client=client)
                t.equal(_read(client), None, "after an IMPORT that found no room")
            client.query(_IMPORT)
            files.export.unlink()
            t.equal(_read(client), rows)
            files.expect_none_left()
            server.kill()
            server.start()
            client = t.client(server)
            t.equal(_read(client), rows, "after a crash")
            t.check_table("a", client=client)
        finally:
            server.destroy()


def test_crash(t):
    _rowan_only(t)
    server = t.new_server(binlog=True)
    server.start()
    client = t.client(server)
    _fill(client)
    rows, files = _read(client), _Files(t, server)
    kept = t.server.folder / "kept"
    export_s = _export(client, files, kept)
    for statement, within_s in ((_IMPORT, 2 * export_s), (_DISCARD, 0.02), (_IMPORT, 2 * export_s),
                                (_EXPORT, export_s)):
        if statement == _IMPORT and _read(client) is not None:
            client.query(_DISCARD)
        if statement == _IMPORT:
            shutil.copy(kept, files.export)
        elif _read(client) is None:
            shutil.copy(kept, files.export)
            client.query(_IMPORT)
            files.export.unlink()
        t.amid(client, [statement], within_s, server.kill)
        server.start()
        client = t.client(server)
        found = _read(client)
        t.true(found in (None, rows), f"after {statement}: {found}")
        t.true(found is not None or statement != _EXPORT, "an export lost the table")
        if statement == _EXPORT:  # what the dead server left goes with the next one
            _export(client, files, kept)
        else:
            files.export.unlink(missing_ok=True)
        files.expect_none_left()
    t.check_table("a", client=client)
