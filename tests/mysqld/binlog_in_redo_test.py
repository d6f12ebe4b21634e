# SPDX-License-Identifier: GPL-2.0-only
"""rowan_binlog_in_redo: one sync for a commit with the binary log, and nothing lost for it.

A crash here also takes what the kernel had not yet written of the binary log file: its end, from
where the control file says that it is durable on. The clients' journals are the judge, and the
binary log, carried out on another server, must give the same rows. ROWAN_TEST_POWER_CUTS=N cuts the
power N times instead of three.
"""
import os
import threading
from functools import partial
from random import Random

from crash_actors import Writer
from framework import ConnectionLost, Failure, MysqlError
from log_replay import replay
from unsynced_binlog import covered, lose_unsynced

_ON = ["--sync-binlog=0", "--loose-rowan-binlog-in-redo=ON", "--gtid-mode=ON",
       "--enforce-gtid-consistency=ON"]
_WRITERS = 4
_POWER_CUTS = int(os.environ.get("ROWAN_TEST_POWER_CUTS", 3))
_GONE = (ConnectionLost, MysqlError, OSError)


class World:
    """A server with writers, each with a journal."""

    def __init__(self, t, options=()):
        self.t = t
        self.server = t.new_server([*_ON, *options], binlog=True)
        self.server.start()
        client = t.client(self.server)
        Writer.create(client)
        self.writers = [Writer(number, t.random) for number in range(_WRITERS)]

    def load_and_kill(self, seconds=0.4, beside=()):
        stop = threading.Event()
        runs = [partial(writer.run, self.t.client(self.server), stop) for writer in self.writers]
        before = sum(writer.commits for writer in self.writers)

        def something_committed():
            return any(writer.unexpected for writer in self.writers) or \
                sum(writer.commits for writer in self.writers) > before + 20
        self.t.kill_among(self.server, [*runs, *(partial(run, stop) for run in beside)], stop,
                          seconds, something_committed)
        for writer in self.writers:
            if writer.unexpected:
                raise Failure(str(writer.unexpected))

    def start_and_settle(self):
        self.server.start()
        client = self.t.client(self.server)
        for writer in self.writers:
            writer.settle(client)
        return client

    def expect_log_says_the_same(self):
        client = self.t.client(self.server)
        copy = self.t.new_server(["--gtid-mode=ON", "--enforce-gtid-consistency=ON"], binlog=True)
        copy.start()
        replay(self.server, copy)
        other = self.t.client(copy)
        for table in Writer.TABLES:
            order = f"SELECT * FROM {table} ORDER BY 1"
            self.t.equal(other.query(order), client.query(order), table)
        own = other.query("SELECT @@server_uuid")[0][0]
        executed = [side.query("SELECT @@GLOBAL.gtid_executed")[0][0].split(",\n")
                    for side in (client, other)]
        self.t.equal([gtids for gtids in executed[1] if own not in gtids], executed[0], "GTIDs")
        copy.destroy()


def _status(client, name):
    return int(client.query(f"SHOW GLOBAL STATUS LIKE 'Rowan_{name}'")[0][1])


def test_one_sync(t):
    server = t.new_server(_ON, binlog=True)
    server.start()
    client = t.client(server)
    client.execute("CREATE TABLE one (id INT PRIMARY KEY, v VARCHAR(2000))")
    groups, bytes_before = (_status(client, name) for name in ("binlog_in_redo_groups",
                                                               "binlog_in_redo_bytes"))
    for number in range(50):
        client.execute(f"INSERT INTO one VALUES ({number}, REPEAT('v', 1000))")
    t.equal(_status(client, "binlog_in_redo_groups") - groups, 50, "groups")
    t.true(_status(client, "binlog_in_redo_bytes") - bytes_before > 50_000, "their events")
    name, end = covered(server)
    t.equal(client.query("SHOW BINARY LOG STATUS")[0][0], name, "the newest file")
    client.execute("SET GLOBAL rowan_binlog_in_redo = OFF")
    client.execute("INSERT INTO one VALUES (100, 'after')")
    t.equal(covered(server), None, "switched off")
    client.execute("SET GLOBAL rowan_binlog_in_redo = ON")
    client.execute("INSERT INTO one VALUES (101, 'after')")
    t.true(covered(server)[1] > end, "carried from its end on")
    client.execute("SET GLOBAL sync_binlog = 1")
    client.execute("INSERT INTO one VALUES (102, 'after')")
    t.equal(covered(server), None, "the server syncs the file itself")
    client.execute("SET GLOBAL rowan_binlog_in_redo = ON")
    t.true("sync_binlog = 0, which is 1" in client.query("SHOW WARNINGS")[0][2], "a warning")
    client.execute("SET GLOBAL sync_binlog = 0")
    client.execute("SET GLOBAL rowan_binlog_in_redo = ON")
    t.equal(client.query("SHOW WARNINGS"), [], "none where it acts")
    server.destroy()


def test_the_file_is_lost_to_where_it_was_synced(t):
    world = World(t)
    lost = 0
    for _ in range(_POWER_CUTS):
        world.load_and_kill()
        lost += lose_unsynced(world.server, t.random)
        world.start_and_settle()
    t.true(lost > 0, "some crash lost something")
    t.true("according to the redo log" in world.server.messages(), "it is told")
    world.expect_log_says_the_same()
    world.server.destroy()


def test_rotations_resets_and_switches(t):
    world = World(t, ["--max-binlog-size=65536"])

    def disturb(stop):
        client, random = world.server.client(), Random(t.random.random())
        statements = ["FLUSH BINARY LOGS", "SET GLOBAL rowan_binlog_in_redo = OFF",
                      "SET GLOBAL rowan_binlog_in_redo = ON", "SET GLOBAL sync_binlog = 1",
                      "SET GLOBAL sync_binlog = 0", "SET GLOBAL binlog_order_commits = OFF",
                      "SET GLOBAL binlog_order_commits = ON"]
        try:
            while not stop.is_set():
                client.execute(random.choice(statements))
        except _GONE:
            pass
    for _ in range(4):
        world.load_and_kill(beside=[disturb])
        if covered(world.server) is not None:
            lose_unsynced(world.server, t.random)
        world.start_and_settle()
    world.expect_log_says_the_same()
    # The next file has the name of one whose end the redo log may hold.
    client = t.client(world.server)
    client.execute("SET GLOBAL sync_binlog = 0")
    client.execute("SET GLOBAL rowan_binlog_in_redo = ON")
    for _ in range(3):
        client.execute("RESET BINARY LOGS AND GTIDS")
        client.execute("CREATE TABLE IF NOT EXISTS fresh (id INT AUTO_INCREMENT PRIMARY KEY)")
        client.execute("INSERT INTO fresh VALUES ()")
    rows = client.query("SELECT COUNT(*) FROM fresh")
    world.server.kill()
    lose_unsynced(world.server, t.random)
    client = world.start_and_settle()
    t.equal(client.query("SELECT COUNT(*) FROM fresh"), rows, "after RESET")
    world.server.destroy()


def test_compressed_and_large(t):
    world = World(t, ["--binlog-transaction-compression=ON", "--loose-rowan-redo-log-capacity=16M",
                      "--max-allowed-packet=64M"])
    client = t.client(world.server)
    client.execute("CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB)")
    for number in range(3):
        client.execute(f"INSERT INTO large SELECT {number}, "
                       "REPEAT(CONCAT(UUID(), RANDOM_BYTES(200)), 40000)")
    t.true(_status(client, "binlog_in_redo_file_syncs") > 0, "what is too large syncs the file")
    sums = client.query("SELECT id, CRC32(b) FROM large")
    world.load_and_kill()
    lose_unsynced(world.server, t.random)
    client = world.start_and_settle()
    t.equal(client.query("SELECT id, CRC32(b) FROM large"), sums, "large rows")
    world.expect_log_says_the_same()
    world.server.destroy()


def test_beside_innodb_and_xa(t):
    world = World(t, ["--loose-rowan-binlog-in-redo=EARLY_SEND"])
    client = t.client(world.server)
    client.execute("CREATE TABLE beside (id INT AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB")
    client.execute("CREATE TABLE with_it (id INT PRIMARY KEY)")
    done = []

    def both(stop):
        connection = t.client(world.server)
        try:
            for number in range(100_000):
                if stop.is_set():
                    return
                connection.execute("BEGIN")
                connection.execute("INSERT INTO beside VALUES ()")
                connection.execute(f"INSERT INTO with_it VALUES ({number})")
                connection.execute("COMMIT")
                done.append(number)
        except _GONE:
            pass

    def xa(stop):
        connection = t.client(world.server)
        try:
            for number in range(100_000):
                if stop.is_set():
                    return
                name = f"'x{number}'"
                connection.execute(f"XA START {name}")
                connection.execute(f"INSERT INTO with_it VALUES ({1_000_000 + number})")
                connection.execute(f"XA END {name}")
                connection.execute(f"XA PREPARE {name}")
                connection.execute(f"XA COMMIT {name}")
                done.append(1_000_000 + number)
        except _GONE:
            pass
    world.load_and_kill(beside=[both, xa])
    lose_unsynced(world.server, t.random)
    client = world.start_and_settle()
    for _, _, _, data in client.query("XA RECOVER"):
        client.execute(f"XA COMMIT '{data}'")
    ids = {int(row[0]) for row in client.query("SELECT id FROM with_it")}
    t.equal(sorted(set(done) - ids), [], "acknowledged and lost")
    pairs = sum(1 for number in ids if number < 1_000_000)
    t.equal(client.query("SELECT COUNT(*) FROM beside"), [(pairs,)], "both engines")
    world.expect_log_says_the_same()
    world.server.destroy()


def test_a_group_that_xa_commit_leads_in_a_new_file(t):
    """XA COMMIT by another session is no transaction of the binary log to the engine."""
    world = World(t)
    client = t.client(world.server)
    client.execute("CREATE TABLE by_xa (id INT PRIMARY KEY)")
    for number in range(3):
        client.execute(f"XA START 'x{number}'")
        client.execute(f"INSERT INTO by_xa VALUES ({number})")
        client.execute(f"XA END 'x{number}'")
        client.execute(f"XA PREPARE 'x{number}'")
        other = world.server.client()
        client.close()
        client = other
        client.execute("FLUSH BINARY LOGS")
        name, at_rotation = client.query("SHOW BINARY LOG STATUS")[0][:2]
        client.execute(f"XA COMMIT 'x{number}'")
        world.server.kill()
        if covered(world.server) is None or covered(world.server)[0] != name:
            os.truncate(world.server.data / name, int(at_rotation))
        else:
            lose_unsynced(world.server, t.random)
        client = world.start_and_settle()
        t.equal(client.query("SELECT COUNT(*) FROM by_xa"), [(number + 1,)], "committed rows")
    copy = t.new_server(["--gtid-mode=ON", "--enforce-gtid-consistency=ON"], binlog=True)
    copy.start()
    replay(world.server, copy)
    t.equal(t.client(copy).query("SELECT COUNT(*) FROM by_xa"), [(3,)], "in the binary log")
    world.server.destroy()


def test_a_rotation_makes_commits_durable(t):
    """Of any setting: the next file no longer says what was committed in the one before."""
    server = t.new_server(binlog=True)
    server.start()
    client = t.client(server)
    client.execute("CREATE TABLE kept (id INT PRIMARY KEY)")
    for number in range(2):
        client.execute("SET GLOBAL binlog_expire_logs_auto_purge = OFF")
        client.execute(f"INSERT INTO kept VALUES ({number})")
        client.execute("FLUSH BINARY LOGS")
        server.kill()
        server.start()
        client = t.client(server)
        t.equal(client.query("SELECT COUNT(*) FROM kept"), [(number + 1,)], "acknowledged rows")
    server.destroy()


def test_uninstalled_and_installed_again(t):
    server = t.new_server(_ON, binlog=True)
    server.start()
    client = t.client(server)
    client.execute("CREATE TABLE beside (id INT PRIMARY KEY) ENGINE=InnoDB")
    client.execute("CREATE TABLE rows_of_it (id INT PRIMARY KEY)")
    client.execute("INSERT INTO rows_of_it VALUES (1)")
    client.close()
    for number in range(2):
        client = server.client()
        client.execute(f"USE {t.database}")
        client.execute("FLUSH TABLES")
        t.uninstall(client)
        t.equal(covered(server), None, "carried without a plugin")
        client.execute(f"INSERT INTO beside VALUES ({number})")
        client.execute("INSTALL PLUGIN rowan SONAME 'ha_rowan.so'")
        client.execute("SET GLOBAL rowan_binlog_in_redo = ON")
        client.close()
    client = t.client(server)
    client.execute("INSERT INTO rows_of_it VALUES (2)")
    client.execute("INSERT INTO beside VALUES (2)")
    t.true(covered(server) is not None, "carried again")
    server.kill()
    lose_unsynced(server, t.random)
    server.start()
    client = t.client(server)
    t.equal(client.query("SELECT COUNT(*) FROM rows_of_it"), [(2,)], "rows")
    t.equal(client.query("SELECT COUNT(*) FROM beside"), [(3,)], "InnoDB's rows")
    events = client.query("SELECT @@GLOBAL.gtid_executed")[0][0]
    server.restart()
    t.equal(server.client().query("SELECT @@GLOBAL.gtid_executed")[0][0], events, "GTIDs")
    server.destroy()


def test_without_the_plugin_in_between(t):
    world = World(t)
    server = world.server
    for _ in range(4):
        world.load_and_kill()
        lost = lose_unsynced(server, t.random)
        name = covered(server)[0]
        plugin = server.plugin
        server.plugin, server.install_plugin = server.folder / "absent.so", False
        (server.folder / "plugins" / "ha_rowan.so").unlink()
        server.start()
        t.true(server.stop(), "no orderly stop")
        server.plugin, server.install_plugin = plugin, True
        world.start_and_settle()
        if lost:
            break
    t.true(f"'./{name}.restored'" in server.messages() or not lost, "where the whole file is")
    server.destroy()


def test_without_the_binary_log(t):
    world = World(t)
    server = world.server
    world.load_and_kill()
    lose_unsynced(server, t.random)
    server.binlog = server.install_plugin = False
    server.start()
    client = server.client()
    t.error("SELECT COUNT(*) FROM " + t.database + ".mixed", (1286, 1146), client)
    t.true("Start once with --log-bin as before" in server.messages(), server.messages())
    t.true(server.stop(), "no orderly stop")
    # An index of another name is not that of the file, whatever comes first in the alphabet.
    server.binlog = True
    for _ in range(2):  # the second time it has a file
        server.start(["--log-bin=other"])
        t.error("SELECT COUNT(*) FROM " + t.database + ".mixed", (1286, 1146), server.client())
        t.true("not in the index of the log" in server.messages(), server.messages())
        t.true(server.stop(), "no orderly stop")
    server.install_plugin = True
    world.start_and_settle()
    world.expect_log_says_the_same()
    server.destroy()
