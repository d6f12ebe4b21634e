# SPDX-License-Identifier: GPL-2.0-only
"""Power cuts of a source with rowan_binlog_in_redo on a disk that loses what was not synced.

After each the clients' journals, the engine, and a replica that follows all the time must agree by
rows and GTIDs; in the end so must a replica that has nothing but what is then in the binary log.
ROWAN_TEST_POWER_CUTS=N cuts N times instead of three."""
import copy
import json
import os
import threading
from functools import partial
from types import SimpleNamespace

from crash_actors import Writer
from framework import free_port
from losing_disk import LosingDisk
from replication_load import await_replica

_CUTS = int(os.environ.get("ROWAN_TEST_POWER_CUTS", 3))
_WRITERS = 4
_COMMON = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"]
_SOURCE = [*_COMMON, "--sync-binlog=0", "--loose-rowan-binlog-in-redo=ON",
           "--max-binlog-size=1048576", "--loose-rowan-redo-log-capacity=16M"]


def _start_source(t, source):
    source.port = free_port()
    source.start()
    client = t.client(source, database="")
    client.execute("CREATE USER replica@localhost IDENTIFIED BY ''")
    client.execute("GRANT REPLICATION SLAVE ON *.* TO replica@localhost")
    client.execute("RESET BINARY LOGS AND GTIDS")
    Writer.create(t.client(source))


def _follow(t, source, number):
    """A session of a new replica, which follows from the beginning of the binary log."""
    replica = t.new_server([*_COMMON, f"--server-id={number}", "--performance-schema=ON"],
                           binlog=True)
    replica.start()
    client = t.client(replica, database="")
    client.execute(f"SET GLOBAL default_storage_engine = {t.engine}")
    client.execute("RESET BINARY LOGS AND GTIDS")
    client.execute("CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_USER='replica', "
                   f"SOURCE_PORT={source.port}, SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1, "
                   "SOURCE_CONNECT_RETRY=1, SOURCE_RETRY_COUNT=100000")
    client.execute("START REPLICA")
    return client


def _expect_equal(t, source, replica):
    await_replica(t, source, replica)
    for table in Writer.TABLES:
        order = f"SELECT * FROM `{t.database}`.{table} ORDER BY 1"
        t.equal(replica.query(order), source.query(order), table)
    executed = "SELECT @@GLOBAL.gtid_executed"
    t.equal(replica.query(executed), source.query(executed), "GTIDs")


def _load_and_cut(t, disk, source, writers):
    stop = threading.Event()
    runs = [partial(writer.run, t.client(source), stop) for writer in writers]
    before = sum(writer.commits for writer in writers)
    failed = []

    def cut():
        failed.extend(writer.unexpected for writer in writers if writer.unexpected)
        disk.kill()
    t.kill_among(SimpleNamespace(kill=cut), runs, stop, 0.1 + 0.5 * t.random.random(),
                 lambda: any(writer.unexpected for writer in writers)
                 or sum(writer.commits for writer in writers) > before + 20)
    t.equal(failed, [], "errors while the disk was there")
    for writer in writers:
        writer.unexpected = None  # the disk went before the server


def _cut_power(t, source, cuts):
    """Returns the source's binary log files."""
    with LosingDisk(t, source) as disk:
        _start_source(t, source)
        disk.sync()
        replica = _follow(t, source, 2)
        writers = [Writer(number, t.random) for number in range(_WRITERS)]
        restored = 0
        for cut in range(cuts):
            _load_and_cut(t, disk, source, writers)
            source.start()
            restored += "according to the redo log" in source.messages()
            client = t.client(source)
            for writer in writers:
                writer.settle(client)
            replica.execute("START REPLICA")  # it had read an error from the disk
            _expect_equal(t, client, replica)
            if cut % 25 == 24:
                print(f"{cut + 1} cuts, {restored} lost some of the binary log, "
                      f"{sum(writer.sequence for writer in writers)} commits", flush=True)
        t.true(restored > 0, "no cut lost anything of the binary log")
        _expect_equal(t, client, _follow(t, source, 3))
        return client.query("SHOW BINARY LOGS")


def test_engine_binary_log_and_replica_agree(t):
    _cut_power(t, t.new_server(_SOURCE, binlog=True), _CUTS)


def test_the_binary_log_is_encrypted(t):
    source = t.new_server([*_SOURCE, "--binlog-encryption=ON"], binlog=True)
    # A server reads which keyring to use beside its program.
    programs = source.folder / "programs"
    programs.mkdir()
    (programs / "mysqld").symlink_to(source.tree.mysqld)
    (programs / "mysqld.my").write_text(
        json.dumps({"components": "file://component_keyring_file"}))
    (source.folder / "plugins").mkdir()
    (source.folder / "plugins" / "component_keyring_file.cnf").write_text(
        json.dumps({"path": str(source.folder / "keyring"), "read_only": False}))
    source.tree = copy.copy(source.tree)
    source.tree.mysqld = programs / "mysqld"
    files = _cut_power(t, source, min(_CUTS, 30))
    t.equal({encrypted for _, _, encrypted in files}, {"Yes"}, "encrypted")
