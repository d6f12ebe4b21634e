# SPDX-License-Identifier: GPL-2.0-only
"""The servers of a cluster: a source, replicas with GTIDs and semi-synchronous acknowledgement, and
what each of them is now. A cluster is a folder; cluster.json in it says who is the source.

No acknowledged transaction is lost with the source: a commit returns when a replica has it in its
relay log (AFTER_SYNC, never switched off by a timeout), and the replica that has received all that
any other has is promoted.
"""
import json
import shutil
import time
from pathlib import Path

from ..backup import Backup, parse as backup_options
from ..paths import UserError
from ..server import Server, free_port
from .fronts import front_of

REPLICA_USER, LOAD_USER = "cluster_replica", "cluster_load"
_STATE = "cluster.json"
_CATCH_UP_LIMIT_S = 600
_SEMI_SYNC_WAIT_MS = 3_600_000  # a commit waits for its replica, it does not go on without
_OPTIONS = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--sync-binlog=1",
            "--performance-schema=ON", "--relay-log-recovery=ON", "--skip-replica-start",
            "--super-read-only=ON", "--replica-parallel-workers=4",
            "--replica-preserve-commit-order=ON",
            f"--loose-rpl-semi-sync-source-timeout={_SEMI_SYNC_WAIT_MS}",
            "--loose-rpl-semi-sync-replica-enabled=ON"]
_PLUGINS = ["ha_rowan.so", "semisync_source.so", "semisync_replica.so", "mysql_clone.so"]


class HasOwnTransactions(UserError):
    """The server has committed what no other has, as a source may that died before a replica had
    it; no client was told that it is committed."""

    def __init__(self, number, gtids):
        super().__init__(f"server {number} has transactions that the source lacks: {gtids}")


class Cluster:
    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self.state = json.loads((self.folder / _STATE).read_text()) if self.exists() else None

    def exists(self):
        return (self.folder / _STATE).is_file()

    def create(self, replicas, engine, buffer_pool, front):
        self.folder.mkdir(parents=True, exist_ok=True)
        ports = set()
        while len(ports) < replicas + 3:
            ports.add(free_port())
        ports = sorted(ports)
        self.state = {"engine": engine, "buffer_pool": buffer_pool, "source": 0, "front": front,
                      "ports": ports[:replicas + 1], "write_port": ports[-2],
                      "read_port": ports[-1]}
        self._save()

    def _save(self):
        temporary = self.folder / (_STATE + ".new")
        temporary.write_text(json.dumps(self.state, indent=1) + "\n")
        temporary.rename(self.folder / _STATE)

    # --- members, by number ---

    def numbers(self):
        return range(len(self.state["ports"]))

    @property
    def source(self):
        return self.state["source"]

    def write_address(self):
        """Where writes go now."""
        state = self.state
        fronted = front_of(self).title
        return ("127.0.0.1", state["write_port"] if fronted else state["ports"][self.source])

    def replicas(self):
        return [number for number in self.numbers() if number != self.source]

    def server(self, number):
        return Server(self.folder / f"server{number}", binlog=True, install_plugin=False,
                      port=self.state["ports"][number], buffer_pool=self.state["buffer_pool"],
                      options=[*_OPTIONS, f"--server-id={number + 1}",
                               f"--plugin-load-add={';'.join(_PLUGINS)}",
                               f"--default-storage-engine={self.state['engine']}"])

    def client(self, number):
        return self.server(number).client()

    def start(self, number):
        """As a read-only server that replicates from nobody."""
        server = self.server(number)
        if not server.is_running():
            server.start()

    def start_all(self):
        """Of a new cluster: servers, users, replication. Of a stopped one: the same roles."""
        fresh = [not self.server(number).data.is_dir() for number in self.numbers()]
        for number in self.numbers():
            if fresh[number]:
                self._initialize(number)
            self.start(number)
            if fresh[number]:
                with self.client(number) as client:
                    client.execute("SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF")
                    client.execute("RESET BINARY LOGS AND GTIDS")
                    client.execute("SET GLOBAL super_read_only = ON")
        if fresh[self.source]:
            self._create_users()
        for number in self.replicas():
            self.follow(number)
        self.lead(self.source)

    def _initialize(self, number):
        """An empty data directory; those after the first are copies of another empty one."""
        server, template = self.server(number), self.folder / "empty"
        if not template.is_dir():
            server.initialize()
            shutil.copytree(server.data, template)
            (template / "auto.cnf").unlink()  # each server draws its own UUID
        elif not server.data.is_dir():
            partial = server.folder / "data.partial"
            shutil.copytree(template, partial, dirs_exist_ok=True)
            partial.rename(server.data)

    def _create_users(self):
        with self.client(self.source) as client:
            client.execute("SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF")
            for user, right in ((REPLICA_USER, "REPLICATION SLAVE"), (LOAD_USER, "ALL")):
                client.execute(f"CREATE USER {user} IDENTIFIED BY ''")
                client.execute(f"GRANT {right} ON *.* TO {user}")

    def stop_all(self):
        """The source last: replicas have all that it has committed."""
        for number in [*self.replicas(), self.source]:
            server = self.server(number)
            if server.is_running() and not server.stop():
                raise UserError(f"server {number} did not end in time and was killed")

    # --- roles ---

    def lead(self, number):
        """The server takes writes. REQUIRES: a replica follows it, or commits wait for one."""
        with self.client(number) as client:
            client.execute("SET GLOBAL rpl_semi_sync_source_enabled = ON")
            client.execute("SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF")
        self.state["source"] = number
        self._save()

    def follow(self, number, source=None):
        """The server replicates from the source. HasOwnTransactions."""
        source = self.source if source is None else source
        with self.client(number) as client, self.client(source) as other:
            client.execute("SET GLOBAL super_read_only = ON")
            client.execute("SET GLOBAL rpl_semi_sync_source_enabled = OFF")
            own = client.value(f"SELECT GTID_SUBTRACT(@@global.gtid_executed, '{executed(other)}')")
            if own:
                raise HasOwnTransactions(number, own)
            client.execute("STOP REPLICA")
            client.execute("CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT="
                           f"{self.state['ports'][source]}, SOURCE_USER='{REPLICA_USER}', "
                           "SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1, "
                           "SOURCE_CONNECT_RETRY=1, SOURCE_RETRY_COUNT=100000")
            client.execute("START REPLICA")

    def rebuild(self, number):
        """A server that cannot follow begins anew, from a backup of the source."""
        copy_from(self.server(self.source), self.server(number), self.folder / f"copy{number}")
        self.follow(number)

    def await_replica(self, number):
        """Until it has applied what the source has committed by now."""
        with self.client(self.source) as source:
            wanted = executed(source)
        self.await_applied(number, wanted)

    def await_applied(self, number, gtids):
        deadline = time.monotonic() + _CATCH_UP_LIMIT_S
        with self.client(number) as client:
            while client.value(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{gtids}', 1)") != 0:
                error = applier_error(client)
                if error:
                    raise UserError(f"the applier of server {number} stopped: {error}")
                if time.monotonic() > deadline:
                    raise UserError(f"server {number} did not catch up within "
                                    f"{_CATCH_UP_LIMIT_S} s")


def copy_from(source, server, scratch):
    """Gives a server a backup of the source in place of what it has, and starts it; `scratch` is a
    folder that is used meanwhile. It can be written to."""
    server.stop()
    shutil.rmtree(scratch, ignore_errors=True)
    Backup(backup_options([str(scratch), "--socket", str(source.socket)])).run()
    position = json.loads((scratch / "backup.json").read_text())
    shutil.rmtree(server.data)
    (scratch / "data").rename(server.data)
    shutil.rmtree(scratch)
    server.start()
    with server.client() as client:
        client.execute("SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF")
        client.execute("RESET BINARY LOGS AND GTIDS")
        client.execute(f"SET GLOBAL gtid_purged = '{position['gtid_executed']}'")


def executed(client):
    return client.value("SELECT @@global.gtid_executed").replace("\n", "")


def received(client):
    """What the replica has applied or has whole in its relay log."""
    relayed = client.value("SELECT received_transaction_set FROM "
                           "performance_schema.replication_connection_status") or ""
    return ",".join(part for part in (executed(client), relayed.replace("\n", "")) if part)


def applier_error(client):
    """Why a replica's applier stopped, or None."""
    rows = client.query("SELECT last_error_message FROM "
                        "performance_schema.replication_applier_status_by_worker "
                        "WHERE last_error_number <> 0 UNION ALL SELECT last_error_message FROM "
                        "performance_schema.replication_applier_status_by_coordinator "
                        "WHERE last_error_number <> 0")
    return rows[0][0] if rows else None
