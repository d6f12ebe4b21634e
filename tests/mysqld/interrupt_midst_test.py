# SPDX-License-Identifier: GPL-2.0-only
"""KILL and SHUTDOWN in the midst of what only the server does: EXPORT, IMPORT, and building
FULLTEXT and SPATIAL indexes.

A preloaded library (hold_call.c) holds a call of the file system that the statement makes, until it
has been killed, and counts the calls that follow on its thread: no verdict depends on how fast
anything is."""
from pathlib import Path
import threading

from framework import ConnectionLost, MysqlError
from rowantools.bench.sync_delay import library

_ROWS = 20_000   # of half a kilobyte: several times the pool
_CALLS_MAX = 200   # behind the kill: a hundred pages of an index are looked for in any case
_INTERRUPTED = 1317
_OPTIONS = ("--cte-max-recursion-depth=1000000", "--loose-rowan-io-backend=threads",
            "--loose-rowan-scrub-bytes-per-second=0")
_EXPORT = "FLUSH TABLES wide FOR EXPORT"


class _Hold:
    """A server with the library, and the calls that it holds."""

    def __init__(self, t, monkeypatch, pool):
        self._t = t
        self.server = t.new_server(options=_OPTIONS, buffer_pool=pool)
        self._folder = Path(self.server.folder) / "hold"
        self._folder.mkdir(mode=0o777)
        self._folder.chmod(0o777)
        monkeypatch.setenv("LD_PRELOAD", str(library(Path(__file__).with_name("hold_call.c"))))
        monkeypatch.setenv("ROWAN_HOLD_FOLDER", str(self._folder))
        self.server.start()

    def within(self, client, statement, call, strike):
        """Runs the statement, calls strike() while its call is held; returns how it failed."""
        self._put("arm", call)
        failed = []

        def run():
            try:
                client.query(statement)
            except (MysqlError, ConnectionLost, OSError) as error:
                failed.append(error)
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self._t.wait_for(lambda: (self._folder / "reached").exists() or not thread.is_alive(),
                         f"{statement} makes the call {call}")
        self._t.true(thread.is_alive(), f"{statement} was through without {call}: {failed}")
        strike()
        self._put("go", "")
        thread.join(600)
        self._t.true(not thread.is_alive(), f"{statement} goes on")
        return failed[0] if failed else None

    def check_calls(self, statement):
        """How many calls followed, once the server has ended the statement: not so many."""
        calls = int((self._folder / "calls").read_text())
        print(f"     {statement[:50]}: {calls} calls followed", flush=True)
        self._t.true(calls <= _CALLS_MAX, f"{statement}: {calls} calls followed")

    def _put(self, name, text):
        partial = self._folder / "partial"
        partial.write_text(text)
        partial.rename(self._folder / name)


def _fill(client):
    client.execute("CREATE TABLE wide (id INT PRIMARY KEY, t VARCHAR(600), "
                   "p POINT NOT NULL SRID 0)")
    client.execute("INSERT INTO wide WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 "
                   f"FROM n WHERE i < {_ROWS - 1}) SELECT i, REPEAT(CONCAT(SHA2(i, 256), ' '), 8), "
                   "ST_GeomFromText(CONCAT('POINT(', i, ' ', i % 100, ')')) FROM n")


def _newest_file(server):
    names = [path.name for path in (server.data / "rowan").glob("space_*.rws")]
    return max(names, key=lambda name: int(name[6:-4]))


def _works(t, server):
    """What is run, and the call in its midst. After two reads a walk has others read ahead."""
    return ((_EXPORT, "w 5 wide.rwx"),
            ("ALTER TABLE wide ADD FULLTEXT KEY words (t)", f"r 2 {_newest_file(server)}"),
            ("ALTER TABLE wide ADD SPATIAL KEY places (p)", f"r 2 {_newest_file(server)}"))


def _expect_whole(t, client, server):
    t.equal(client.query("SELECT COUNT(*), SUM(id) FROM wide"),
            [(_ROWS, str(_ROWS * (_ROWS - 1) // 2))])
    t.equal(client.query("SELECT COUNT(*) FROM information_schema.statistics WHERE table_name = "
                         f"'wide' AND table_schema = '{t.database}'"), [(1,)], "indexes")
    t.equal([path.name for path in (server.data / t.database).iterdir()], [], "exports")
    client.execute("UPDATE wide SET id = id WHERE id = 7")
    t.check_table("wide", client)


def _kill(t, hold, client, statement, call):
    killer = t.client(hold.server)
    number = client.value("SELECT CONNECTION_ID()")
    error = hold.within(client, statement, call, lambda: killer.execute(f"KILL QUERY {number}"))
    t.true(isinstance(error, MysqlError) and error.code == _INTERRUPTED, f"{statement}: {error}")
    hold.check_calls(statement)


def test_killed_in_the_midst(t, monkeypatch):
    if t.engine != "ROWAN":
        t.skip("about our calls of the file system")
    hold = _Hold(t, monkeypatch, "5M")
    client = t.client(hold.server)
    client.execute("SET SESSION rowan_ddl_threads = 1")
    _fill(client)
    for statement, call in _works(t, hold.server):
        _kill(t, hold, client, statement, call)
        client.execute("UNLOCK TABLES")
        _expect_whole(t, client, hold.server)
    client.execute(_EXPORT)
    path = hold.server.data / t.database / "wide.rwx"
    kept = path.read_bytes()
    client.execute("UNLOCK TABLES")
    client.execute("ALTER TABLE wide DISCARD TABLESPACE")
    path.write_bytes(kept)
    path.chmod(0o666)
    _kill(t, hold, client, "ALTER TABLE wide IMPORT TABLESPACE", "r 5 wide.rwx")
    client.execute("ALTER TABLE wide IMPORT TABLESPACE")
    path.unlink()
    _expect_whole(t, client, hold.server)


def test_shutdown_in_the_midst(t, monkeypatch):
    if t.engine != "ROWAN":
        t.skip("about our calls of the file system")
    hold = _Hold(t, monkeypatch, "5M")
    server = hold.server
    _fill(t.client(server))
    for statement, call in _works(t, server):
        client = t.client(server)
        client.execute("SET SESSION rowan_ddl_threads = 1")
        stopping = []

        def strike():
            stopping.append(threading.Thread(target=server.stop))
            stopping[0].start()
            # Sessions are killed before it says so.
            t.wait_for(lambda: "Forcing close of thread" in server.messages(),
                       "the server has killed its sessions")
        hold.within(client, statement, call, strike)
        stopping[0].join()
        hold.check_calls(statement)  # its connection was lost before it had ended
        t.true("got signal" not in server.messages(), server.messages()[-2000:])
        server.start()
        _expect_whole(t, t.client(server), server)
