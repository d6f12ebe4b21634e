# SPDX-License-Identifier: GPL-2.0-only
"""Replication of Rowan tables, beside and between InnoDB's: a random load in all formats with XA
transactions, appliers beside each other, servers killed; dumps and loads between the engines.

ROWAN_TEST_LONG=1 makes the run with kills ROWAN_REPLICATION_MINUTES long (60)."""
import os
import re
import subprocess
import threading
import time

from framework import ConnectionLost, find_tree, free_port
from replication_load import Load, await_replica, compare, create_tables
from unsynced_binlog import covered, lose_unsynced

_SEMI_SYNC = ("INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'",
              "INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'",
              "SET PERSIST rpl_semi_sync_source_enabled = ON",
              "SET PERSIST rpl_semi_sync_source_timeout = 2000",
              "SET PERSIST rpl_semi_sync_replica_enabled = ON")
_OPTIONS = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--sync-binlog=1",
            "--performance-schema=ON", "--relay-log-recovery=ON", "--skip-replica-start",
            "--replica-parallel-workers=4", "--replica-preserve-commit-order=ON",
            "--replica-transaction-retries=100", "--innodb-lock-wait-timeout=5",
            "--loose-rowan-lock-wait-timeout=5"]


class Ring:
    """A source and its replicas, each with an engine for tables whose definition names none."""

    def __init__(self, t, engines, semi_sync=False, options=()):
        self._t, self.engines = t, engines
        self.servers = [t.new_server([*_OPTIONS, f"--server-id={number}", *options], binlog=True)
                        for number in range(1, len(engines) + 1)]
        self.source = self.servers[0]
        self.source.port = free_port()
        for server in self.servers:
            server.start()
        for server, engine in zip(self.servers, engines):
            client = t.client(server, database="")
            # Tables get the engine of the server where the statement is applied.
            client.execute(f"SET PERSIST default_storage_engine = {engine}")
            for statement in _SEMI_SYNC if semi_sync else ():
                client.execute(statement)
            if server is self.source:
                client.execute("CREATE USER replica@'127.0.0.1' IDENTIFIED BY ''")
                client.execute("CREATE USER replica@localhost IDENTIFIED BY ''")
                client.execute("GRANT REPLICATION SLAVE ON *.* TO replica@'127.0.0.1', "
                               "replica@localhost")
            client.execute("RESET BINARY LOGS AND GTIDS")
        for server in self.servers[1:]:
            self._t.client(server, database="").execute(
                f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT="
                f"{self.source.port}, SOURCE_USER='replica', SOURCE_AUTO_POSITION=1, "
                "GET_SOURCE_PUBLIC_KEY=1, SOURCE_CONNECT_RETRY=1, SOURCE_RETRY_COUNT=100000")
            self.start_replica(server)
        client = self.connect(self.source)
        create_tables(client)
        # A restart forgets the engine, because servers without an option file (framework.py) do not
        # read persisted variables: the tables are to be there then.
        for server in self.servers[1:]:
            await_replica(t, client, self.connect(server, database=""))

    def start_replica(self, server):
        self.connect(server, database="").execute("START REPLICA")

    def connect(self, server, database=None):
        """A session without settings of its own."""
        client = server.client()
        self._t._clients.append(client)
        if database is None and server is self.source:
            client.execute(f"CREATE DATABASE IF NOT EXISTS `{self._t.database}`")
            client.execute(f"USE `{self._t.database}`")
        return client

    def kill(self, number):
        server = self.servers[number]
        server.kill()
        if covered(server) is not None:
            lose_unsynced(server, self._t.random)
        server.start()
        if number > 0:
            self.start_replica(server)

    def finish(self, load):
        """All servers have the same rows, in tables of their engines."""
        transactions = load.finish()
        source = self.connect(self.source)
        rows = 0
        for server, engine in zip(self.servers[1:], self.engines[1:]):
            replica = self.connect(server)
            await_replica(self._t, source, replica)
            rows = compare(self._t, source, replica)
            self._t.equal([name.upper() for (name,) in replica.query(
                "SELECT DISTINCT engine FROM information_schema.tables WHERE table_schema = "
                f"'{self._t.database}'")], [engine.upper()], "engine of the replica")
        return transactions, rows


def run_for(ring, load, seconds, kills=0):
    load.start()
    load.await_some()
    random = ring._t.random
    for _ in range(kills + 1):
        time.sleep(seconds / (kills + 1))
        if kills:
            kills -= 1
            ring.kill(random.randrange(len(ring.servers)))
    return ring.finish(load)


def test_a_load_in_all_formats_from_rowan_to_both_engines(t):
    ring = Ring(t, ["ROWAN", "ROWAN", "InnoDB"])
    transactions, rows = run_for(ring, Load(t, ring.source), 4)
    print(f"{transactions} transactions, {rows} rows compared on each of two replicas")


def test_a_load_from_innodb_to_rowan(t):
    ring = Ring(t, ["InnoDB", "ROWAN"])
    transactions, rows = run_for(ring, Load(t, ring.source), 3)
    print(f"{transactions} transactions, {rows} rows compared")


def test_servers_that_are_killed_lose_nothing(t):
    """Semi-synchronous; source and replicas are killed in turns under the load."""
    engines = ["ROWAN", "ROWAN", "InnoDB"] if t.long else ["ROWAN", "ROWAN"]
    ring = Ring(t, engines, semi_sync=True)
    if not t.long:
        transactions, rows = run_for(ring, Load(t, ring.source, writers=3), 6, kills=2)
        print(f"{transactions} transactions, 2 kills, {rows} rows compared")
        return
    end = time.monotonic() + 60 * float(os.environ.get("ROWAN_REPLICATION_MINUTES", 60))
    transactions = kills = rounds = compared = 0
    while time.monotonic() < end:
        many = t.random.randint(2, 5)
        load = Load(t, ring.source, writers=t.random.randint(2, 6))
        ring.connect(ring.source).execute("DELETE FROM acknowledged")
        done, rows = run_for(ring, load, t.random.uniform(20, 60), kills=many)
        transactions, kills, rounds = transactions + done, kills + many, rounds + 1
        compared += rows * (len(engines) - 1)
        print(f"round {rounds}: {transactions} transactions, {kills} kills, {compared} rows "
              "compared, no difference", flush=True)


def test_nothing_is_lost_with_the_binary_log_in_redo(t):
    """A kill takes the end of the binary log file, too."""
    ring = Ring(t, ["ROWAN", "ROWAN"], semi_sync=True,
                options=["--sync-binlog=0", "--loose-rowan-binlog-in-redo=ON"])
    transactions, rows = run_for(ring, Load(t, ring.source, writers=3), 8, kills=3)
    print(f"{transactions} transactions, 3 kills, {rows} rows compared")


def test_a_dump_of_one_engine_is_one_of_the_other(t):
    """mysqldump --single-transaction --source-data while others write, loaded with the other
    engine; the position in the dump is that of its rows."""
    ring = Ring(t, ["ROWAN", "InnoDB"])
    replica = ring.servers[1]
    ring.connect(replica).execute("STOP REPLICA")
    load = Load(t, ring.source, xa_share=0)
    load.start()
    time.sleep(1)
    program = find_tree().program("mysqldump")

    def dump(server):
        result = subprocess.run(
            [str(program), "--no-defaults", f"--socket={server.socket}", "--user=root",
             "--single-transaction", "--source-data", "--set-gtid-purged=ON", "--databases",
             t.database], capture_output=True, text=True, timeout=600)
        t.true(result.returncode == 0, result.stderr)
        return result.stdout
    text = dump(ring.source)
    time.sleep(1)
    t.true("CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE" in text, "the dump has a position")
    client = ring.connect(replica)
    client.execute(f"DROP DATABASE IF EXISTS `{t.database}`")
    client.execute("RESET BINARY LOGS AND GTIDS")
    text = text.replace("ENGINE=ROWAN", "ENGINE=InnoDB")
    text = "\n".join(line for line in text.splitlines() if "CHANGE REPLICATION" not in line)
    _feed(t, replica, text)
    ring.connect(replica).execute("START REPLICA")
    transactions, rows = ring.finish(load)
    back = dump(replica).replace("ENGINE=InnoDB", "ENGINE=ROWAN")
    back = "\n".join(line for line in back.splitlines()
                     if "CHANGE REPLICATION" not in line and "GTID_PURGED" not in line)
    _feed(t, ring.source, back)
    compare(t, ring.connect(ring.source), ring.connect(replica))
    print(f"{transactions} transactions meanwhile, {rows} rows compared")


def _feed(t, server, text):
    result = subprocess.run([str(find_tree().program("mysql")), "--no-defaults",
                             f"--socket={server.socket}", "--user=root"], input=text,
                            capture_output=True, text=True, timeout=600)
    t.true(result.returncode == 0, result.stderr)


def test_a_prepared_xa_transaction_outlives_both_servers(t):
    ring = Ring(t, ["ROWAN", "ROWAN"])
    source = ring.connect(ring.source)
    for number, end in ((1, "COMMIT"), (2, "ROLLBACK"), (3, "COMMIT")):
        source.execute(f"XA START 'x{number}'")
        source.execute(f"INSERT INTO wide VALUES ({number}, 0, '{end}', NULL)")
        source.execute(f"XA END 'x{number}'")
        source.execute(f"XA PREPARE 'x{number}'")
    replica = ring.connect(ring.servers[1])
    await_replica(t, source, replica)

    def prepared(client):
        return sorted(str(row[3]) for row in client.query("XA RECOVER"))
    t.equal(prepared(replica), ["x1", "x2", "x3"], "prepared on the replica")
    ring.kill(1)
    ring.kill(0)
    source, replica = ring.connect(ring.source), ring.connect(ring.servers[1])
    t.equal(prepared(source), ["x1", "x2", "x3"], "prepared on the source after a kill")
    t.equal(prepared(replica), ["x1", "x2", "x3"], "prepared on the replica after a kill")
    source.execute("XA COMMIT 'x1'")
    source.execute("XA ROLLBACK 'x2'")
    ring.servers[1].stop()
    ring.servers[1].start()
    ring.start_replica(ring.servers[1])
    source.execute("XA COMMIT 'x3'")
    replica = ring.connect(ring.servers[1])
    await_replica(t, source, replica)
    t.equal(prepared(replica), [], "nothing is left on the replica")
    t.equal(compare(t, source, replica), 2, "rows")


def _open_in_binlog(client):
    """XIDs that the binary log has prepared and not ended."""
    xids = set()
    for (log, *_) in client.query("SHOW BINARY LOGS"):
        for row in client.query(f"SHOW BINLOG EVENTS IN '{log}'"):
            found = re.match(r"XA (PREPARE|COMMIT|ROLLBACK) X'([0-9a-f]*)'", str(row[5]))
            if found and found[1] == "PREPARE":
                xids.add(bytes.fromhex(found[2]).decode())
            elif found:
                xids.discard(bytes.fromhex(found[2]).decode())
    return xids


def test_a_crash_leaves_what_the_binary_log_has_prepared(t):
    """A replica applies what it lacks once more: an XA PREPARE that its own binary log never had
    must not be there then."""
    server = t.new_server([*_OPTIONS, "--server-id=1"], binlog=True)
    server.start()
    t.client(server).execute("CREATE TABLE x (id VARCHAR(30) PRIMARY KEY)")

    def write(number, round_number):
        try:
            client = server.client()
            for count in range(1_000_000):
                name = f"{round_number}-{number}-{count}"
                client.execute(f"XA START '{name}'")
                client.execute(f"INSERT INTO `{t.database}`.x VALUES ('{name}')")
                client.execute(f"XA END '{name}'")
                client.execute(f"XA PREPARE '{name}'")
                client.execute(f"XA COMMIT '{name}'")
        except ConnectionLost:
            pass
    prepared = 0
    for round_number in range(20 if t.long else 3):
        writers = [threading.Thread(target=write, args=(number, round_number), daemon=True)
                   for number in range(8)]
        for writer in writers:
            writer.start()
        time.sleep(0.4)
        server.kill()
        for writer in writers:
            writer.join()
        server.start()
        client = t.client(server)
        shown = {str(row[3]) for row in client.query("XA RECOVER")}
        t.equal(shown, _open_in_binlog(client), "prepared, and prepared by the binary log")
        prepared += len(shown)
        for name in shown:
            client.execute(f"XA COMMIT '{name}'")
    print(f"{prepared} transactions were prepared at the kills")


def test_statements_around_files_and_locks_are_replicated(t):
    ring = Ring(t, ["ROWAN", "InnoDB"])
    source = ring.connect(ring.source)
    out = ring.source.folder / "rows.txt"
    source.execute("INSERT INTO wide VALUES " + ", ".join(
        f"({n}, {n % 7}, REPEAT('a', {n % 90}), NULL)" for n in range(1, 201)))
    source.execute(f"SELECT id + 1000, k, s, b FROM wide INTO OUTFILE '{out}'")
    source.execute(f"LOAD DATA INFILE '{out}' INTO TABLE wide")
    source.execute("SET SESSION binlog_format = STATEMENT")
    source.execute("DELETE FROM wide WHERE id > 1100")
    source.execute(f"LOAD DATA INFILE '{out}' REPLACE INTO TABLE wide")
    source.execute("HANDLER wide OPEN")
    t.equal(source.query("HANDLER wide READ `PRIMARY` = (1200)")[0][0], 1200)
    t.equal(len(source.query("HANDLER wide READ k FIRST LIMIT 50")), 50)
    source.execute("HANDLER wide CLOSE")
    other = ring.connect(ring.source)
    source.execute("LOCK INSTANCE FOR BACKUP")
    other.execute("SET SESSION lock_wait_timeout = 1")
    other.execute("UPDATE wide SET k = 100 WHERE id = 5")
    t.error("CREATE TABLE not_now (id INT)", 1205, other)
    source.execute("UNLOCK INSTANCE")
    replica = ring.connect(ring.servers[1])
    await_replica(t, source, replica)
    t.equal(compare(t, source, replica), 400, "rows")
