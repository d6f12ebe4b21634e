# SPDX-License-Identifier: GPL-2.0-only
"""A crash leaves prepared transactions, then the server runs without Rowan, then with it again.

The run in between recovers and closes the binary log, so the server will not decide our
transactions any more: Rowan must find their outcome itself, in the file of the run that crashed, or
refuse to start with a sentence that says what to do. The clients' journals are the judge.
"""
import threading
from functools import partial

from crash_actors import Writer
from framework import HUNG_S, Failure
from rowantools.client import ConnectionLost, MysqlError

_WRITERS, _CRASHES_MAX = 6, 8


class World:
    """A server with writers that was killed while transactions were prepared."""

    def __init__(self, t, binlog):
        self.t, self.server = t, t.new_server(binlog=binlog)
        self.plugin = self.server.plugin
        self.server.start()
        client = t.client(self.server)
        Writer.create(client)
        self.writers = [Writer(number, t.random) for number in range(_WRITERS)]
        self.load()

    def load(self):
        stop = threading.Event()
        runs = [partial(writer.run, self.t.client(self.server), stop) for writer in self.writers]
        before = sum(writer.commits for writer in self.writers)

        def something_committed():
            return any(writer.unexpected for writer in self.writers) or \
                sum(writer.commits for writer in self.writers) > before
        self.t.kill_among(self.server, runs, stop, 0.7, something_committed)
        for writer in self.writers:
            if writer.unexpected:
                raise Failure(str(writer.unexpected))

    def start_without(self, forget=False):
        """`forget`: also take the plugin out of the server's table, for INSTALL PLUGIN later."""
        server = self.server
        server.plugin, server.install_plugin = server.folder / "absent.so", False
        (server.folder / "plugins" / "ha_rowan.so").unlink()
        server.start()
        client = server.client()
        self.t.error("SELECT COUNT(*) FROM " + self.t.database + ".mixed", (1286, 1146), client)
        client.execute("CREATE DATABASE IF NOT EXISTS other")
        client.execute("CREATE TABLE IF NOT EXISTS other.t (id INT AUTO_INCREMENT PRIMARY KEY) "
                       "ENGINE=InnoDB")
        # As many transactions as the other run had, so that their numbers meet.
        for _ in range(200):
            client.execute("INSERT INTO other.t VALUES ()")
        if forget:
            client.execute("DELETE FROM mysql.plugin WHERE name = 'ROWAN'")
        return client

    def start_with(self, *options):
        self.server.plugin, self.server.install_plugin = self.plugin, True
        self.server.start(options)
        return self.t.client(self.server)

    def settle(self, client):
        for writer in self.writers:
            writer.settle(client)
        for table in Writer.TABLES:
            self.t.check_table(table, client)
        # Nothing is locked by a transaction that nobody can end.
        client.execute(f"SET SESSION rowan_lock_wait_timeout = {HUNG_S}")
        for table in Writer.TABLES:
            client.execute(f"SELECT * FROM {table} FOR UPDATE")

    def decided(self):
        return "started without Rowan since" in self.server.messages()


def _run_between(t, binlog, end_between, forget=False):
    """Repeats until a crash left something in doubt; usually the first one does."""
    world = World(t, binlog)
    for _ in range(_CRASHES_MAX):
        world.start_without(forget).close()
        end_between(world.server)
        client = world.start_with()
        decided = world.decided()
        world.settle(client)
        client.close()
        if decided:
            return
        world.load()
        world.settle(world.start_with())
        world.load()
    raise Failure("no crash left a transaction in doubt")


def test_clean_run_between(t):
    _run_between(t, True, lambda server: t.true(server.stop(), "no orderly stop"))


def test_killed_run_between(t):
    _run_between(t, True, lambda server: server.kill())


def test_installed_again_at_run_time(t):
    _run_between(t, True, lambda server: t.true(server.stop(), "no orderly stop"), forget=True)


def test_usual_crash_is_left_to_the_server(t):
    world = World(t, True)
    for _ in range(2):
        client = world.start_with()
        t.true(not world.decided(), "Rowan decided what the server decides")
        world.settle(client)
        client.execute("FLUSH BINARY LOGS")
        world.load()


def _without_outcome(t):
    """A world in which the binary log file of the crashed run is gone."""
    for _ in range(_CRASHES_MAX):
        world = World(t, True)
        client = world.start_without()
        newest = client.query("SHOW BINARY LOGS")[-1][0]
        client.execute(f"PURGE BINARY LOGS TO '{newest}'")
        client.close()
        t.true(world.server.stop(), "no orderly stop")
        server = world.server
        server.plugin, server.install_plugin = world.plugin, False
        server.start()
        messages = server.messages()
        if "rowan_in_doubt=commit" in messages:
            return world, messages
        world.server.destroy()
    raise Failure("no crash left a transaction in doubt")


def test_lost_outcome_is_refused_with_a_sentence(t):
    world, messages = _without_outcome(t)
    t.true("were prepared when the server crashed" in messages, messages[-2000:])
    t.error(f"SELECT * FROM {t.database}.mixed", (1286, 1146), world.server.client())
    t.true(world.server.stop(), "no orderly stop")
    # Acknowledged transactions are among them: committing is right here.
    client = world.start_with("--rowan-in-doubt=commit")
    t.true(world.decided(), world.server.messages()[-2000:])
    for table in Writer.TABLES:
        t.check_table(table, client)
    for writer in world.writers:
        count = client.value(f"SELECT COUNT(*) FROM evidence WHERE writer = {writer.number}")
        t.true(count >= writer.sequence, f"writer {writer.number} lost commits")


def test_lost_outcome_rolled_back(t):
    if not t.long:
        t.skip("like the one before; with --long")
    world, _ = _without_outcome(t)
    t.true(world.server.stop(), "no orderly stop")
    client = world.start_with("--rowan-in-doubt=rollback")
    t.true(world.decided(), world.server.messages()[-2000:])
    for table in Writer.TABLES:
        t.check_table(table, client)
        client.execute(f"SELECT COUNT(*) FROM {table} FOR UPDATE")


def _mixed_writer(client, number, stop, journal):
    """Transactions on both engines, which a server without binary log coordinates in its file."""
    try:
        while not stop.is_set():
            n = journal[number] + 1
            client.execute("BEGIN")
            client.execute(f"INSERT INTO ours VALUES ({number}, {n})")
            client.execute(f"INSERT INTO theirs VALUES ({number}, {n})")
            client.execute("COMMIT")
            journal[number] = n
    except (ConnectionLost, MysqlError):
        pass


def test_two_engines_without_binlog(t):
    """Nothing acknowledged is lost, and the server starts in any order."""
    server = t.new_server()
    server.start()
    client = t.client(server)
    client.execute("CREATE TABLE ours (w INT, n INT, PRIMARY KEY (w, n))")
    client.execute("CREATE TABLE theirs (w INT, n INT, PRIMARY KEY (w, n)) ENGINE=InnoDB")
    journal, stop = [0] * 4, threading.Event()
    t.kill_among(server, [partial(_mixed_writer, t.client(server), n, stop, journal)
                          for n in range(4)], stop, 0.7)
    server.start()
    client = t.client(server)
    for table in ("ours", "theirs"):
        for number, acknowledged in enumerate(journal):
            newest = client.value(f"SELECT COALESCE(MAX(n), 0) FROM {table} WHERE w = {number}")
            t.true(acknowledged <= newest <= acknowledged + 1,
                   f"{table} has {newest} of {acknowledged}")
    t.equal(client.query("SELECT w, MAX(n) FROM ours GROUP BY w ORDER BY w"),
            client.query("SELECT w, MAX(n) FROM theirs GROUP BY w ORDER BY w"), "both engines")
    t.check_table("ours", client)
