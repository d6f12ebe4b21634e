#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""scripts/backup of a server under load: what is restored, with the binary log from its position
on replayed into it, has the rows of the server that went on. A transaction too many or too few in
the copy would fail the replay or show in the rows."""
import json
import shutil
import subprocess

from framework import ROOT, MysqlError, find_tree, main
from replication_load import Load, compare, create_tables

_OPTIONS = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--sync-binlog=1",
            "--performance-schema=ON", "--loose-rowan-redo-log-capacity=16M",
            "--loose-rowan-lock-wait-timeout=10"]
_MIXED_TABLES = ("acknowledged", "wide", "counted", "beside")


def _backup(t, *arguments):
    result = subprocess.run([str(ROOT / "scripts" / "backup"), *map(str, arguments)], text=True,
                            capture_output=True, timeout=900)
    t.true(result.returncode == 0, f"scripts/backup {arguments}: {result.stdout}{result.stderr}")
    print(result.stderr.strip().splitlines()[-1])
    return result.stderr


def _source(t):
    source = t.new_server(_OPTIONS, binlog=True)
    source.start()
    client = t.client(source)
    client.execute("RESET BINARY LOGS AND GTIDS")
    return source, client


def _restore(t, folder):
    server = t.new_server([*_OPTIONS, "--server-id=2"], binlog=True)
    shutil.rmtree(server.data)
    shutil.copytree(folder / "data", server.data)
    server.start()
    return server


def _replay(t, source, restored, folder):
    """What the source wrote to its binary log behind the backup's position."""
    facts = json.loads((folder / "backup.json").read_text())
    client = t.client(restored)
    client.execute("SET SESSION sql_log_bin = OFF")
    prepared = len(client.query("XA RECOVER"))
    ended = [statement for statement in facts["xa_ended"] if client.error_code(statement) == 0]
    print(f"{prepared} XA transactions prepared in the copy, of them ended by the log {ended}")
    client.execute("SET SESSION sql_log_bin = ON")
    client.execute("RESET BINARY LOGS AND GTIDS")
    client.execute(f"SET GLOBAL gtid_purged = '{facts['gtid_executed']}'")
    first = source.data / facts["binary_log_file"]
    logs = sorted(path for path in source.data.glob("binlog.[0-9]*") if path.name >= first.name)
    reader = subprocess.Popen(
        [str(find_tree().program("mysqlbinlog")), "--no-defaults",
         f"--start-position={facts['binary_log_position']}", *map(str, logs)],
        stdout=subprocess.PIPE)
    writer = subprocess.run(
        [str(find_tree().program("mysql")), "--no-defaults", f"--socket={restored.socket}",
         "--user=root", "--binary-mode"], stdin=reader.stdout, capture_output=True, text=True,
        timeout=900)
    reader.stdout.close()
    if reader.wait() != 0 or writer.returncode != 0:
        print("XA RECOVER:", client.query("XA RECOVER"))
        print(client.query("SELECT * FROM information_schema.rowan_trx"))
        print(client.query("SELECT * FROM information_schema.rowan_lock_waits"))
    t.equal((reader.wait(), writer.returncode), (0, 0), writer.stderr)


def _check(t, source, folder, tables):
    restored = _restore(t, folder)
    log = restored.messages()
    t.true("was restored from a backup" in log, log[-2000:])
    t.true("begins anew" not in log and "cannot be read" not in log, log[-2000:])
    _replay(t, source, restored, folder)
    rows = compare(t, t.client(source), t.client(restored), tables)
    client = t.client(restored)
    for table in tables:
        t.check_table(f"`{t.database}`.{table}", client)
    t.true(restored.stop(), "the restored server ends in order")
    t.true("[ERROR]" not in restored.messages(), restored.messages()[-2000:])
    return rows


class _MixedLoad(Load):
    """A third of the transactions write an InnoDB table, too."""

    def start(self):
        for writer in self.writers:
            changes = writer._changes
            writer._changes = lambda client, of=writer, rest=changes: (
                rest(client), client.execute(
                    f"INSERT INTO beside (writer, v) VALUES ({of.number}, {of.acknowledged})")
                if of.random.random() < 0.33 else None)
        super().start()


def test_full_and_incremental_under_load(t):
    source, client = _source(t)
    create_tables(client)
    load = Load(t, source, formats=("ROW",), xa_share=0.4)
    load.start()
    folder = source.folder / "backups"
    folder.mkdir()
    t.wait_for(lambda: load.acknowledged > 50, "transactions")
    _backup(t, folder / "full", "--socket", source.socket)
    shutil.copytree(folder / "full", folder / "first")
    before = load.acknowledged
    client.execute("ALTER TABLE wide ADD KEY later (k, id)")
    client.execute("CREATE TABLE made_later (id INT PRIMARY KEY, v INT)")
    client.execute("INSERT INTO made_later VALUES (1, 1), (2, 2)")
    client.execute("CREATE TABLE gone (id INT PRIMARY KEY)")
    client.execute("DROP TABLE gone")
    t.wait_for(lambda: load.acknowledged > before + 50, "more transactions")
    _backup(t, folder / "changes", "--socket", source.socket, "--base", folder / "full")
    before = load.acknowledged
    t.wait_for(lambda: load.acknowledged > before + 20, "still more transactions")
    transactions = load.finish()
    tables = ("acknowledged", "wide", "counted", "made_later")
    rows = _check(t, source, folder / "first", tables)
    _backup(t, "--apply", folder / "full", folder / "changes")
    _check(t, source, folder / "full", tables)
    print(f"{transactions} transactions, {rows} rows compared twice")


def test_beside_innodb_tables(t):
    source, client = _source(t)
    create_tables(client)
    client.execute("CREATE TABLE beside (id INT AUTO_INCREMENT PRIMARY KEY, writer INT, v INT) "
                   "ENGINE=InnoDB")
    load = _MixedLoad(t, source, formats=("ROW",), xa_share=0)
    load.start()
    folder = source.folder / "backup"
    t.wait_for(lambda: load.acknowledged > 50, "transactions")
    said = _backup(t, folder, "--socket", source.socket)
    t.true("1 InnoDB tables were locked" in said, said)
    before = load.acknowledged
    t.wait_for(lambda: load.acknowledged > before + 20, "more transactions")
    transactions = load.finish()
    rows = _check(t, source, folder, _MIXED_TABLES)
    print(f"{transactions} transactions, {rows} rows compared")


def test_who_may_not_and_what_is_refused(t):
    source, client = _source(t)
    client.execute("CREATE TABLE x (id INT PRIMARY KEY)")
    client.execute("CREATE USER plain@localhost")
    plain = type(client)(source.socket, user="plain")
    t._clients.append(plain)
    target = source.folder / "nothing"
    t.error(f"SELECT ROWAN_BACKUP_BEGIN('{target}', NULL, 0)", 1227, plain)
    t.error("SELECT ROWAN_BACKUP_END(0)", 1815, client)
    t.equal(client.value("SELECT ROWAN_BACKUP_ABANDON()"), 0)
    t.error("SELECT ROWAN_BACKUP_BEGIN('', NULL, 0)", 1815, client)
    t.error(f"SELECT ROWAN_BACKUP_BEGIN('{target}', '{source.folder}', 0)", 1815, client)
    t.true(int(client.value(f"SELECT ROWAN_BACKUP_BEGIN('{target}', NULL, 0)")) > 0, "begun")
    t.error("UNINSTALL PLUGIN rowan", 1883, client)

    def readers():
        return int(client.query("SHOW GLOBAL STATUS LIKE 'Rowan_log_readers'")[0][1])
    t.equal(readers(), 1, "the log is held")
    t.equal(client.value("SELECT ROWAN_BACKUP_ABANDON()"), 1)
    t.equal(readers(), 0, "the log is not held")
    other = t.client(source)
    other.value(f"SELECT ROWAN_BACKUP_BEGIN('{target}2', NULL, 0)")
    other.close()
    t.wait_for(lambda: readers() == 0, "the end of a connection ends its backup")
    client.execute("INSTALL PLUGIN clone SONAME 'mysql_clone.so'")
    try:
        client.execute(f"CLONE LOCAL DATA DIRECTORY = '{target}3'")
        t.true(False, "CLONE of Rowan tables outside of a backup is refused")
    except MysqlError as error:
        t.true("scripts/backup" in error.message, error.message)
    status = client.query("SELECT JSON_EXTRACT(storage_engines, '$.Rowan.LSN'), JSON_EXTRACT("
                          "storage_engines, '$.InnoDB.LSN') FROM performance_schema.log_status")
    t.true(int(status[0][0]) > 4096 and int(status[0][1]) > 0, f"log_status: {status}")


if __name__ == "__main__":
    main(globals())
