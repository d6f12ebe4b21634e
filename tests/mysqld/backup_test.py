# SPDX-License-Identifier: GPL-2.0-only
"""scripts/backup of a server under load: what is restored, with the binary log from its position
on replayed into it, has the rows of the server that went on. A transaction too many or too few in
the copy would fail the replay or show in the rows."""
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from cloning_disk import CloningDisk
from framework import ROOT, MysqlError, find_tree
from replication_load import TABLES, Load, compare, create_tables

_OPTIONS = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--sync-binlog=1",
            "--performance-schema=ON", "--loose-rowan-redo-log-capacity=16M",
            "--loose-rowan-lock-wait-timeout=10"]
_CYCLES_LONG = 20
_MIXED_TABLES = ("acknowledged", "wide", "counted", "beside")


def _backup(t, *arguments):
    result = subprocess.run([str(ROOT / "scripts" / "backup"), *map(str, arguments)], text=True,
                            capture_output=True, timeout=900)
    t.true(result.returncode == 0, f"scripts/backup {arguments}: {result.stdout}{result.stderr}")
    print(result.stderr.strip().splitlines()[-1])
    return result.stderr


def _refused(t, *arguments):
    """The output of scripts/backup, which fails with a sentence."""
    result = subprocess.run([str(ROOT / "scripts" / "backup"), *map(str, arguments)], text=True,
                            capture_output=True, timeout=900)
    t.equal(result.returncode, 1, f"scripts/backup {arguments}: {result.stdout}{result.stderr}")
    t.true("Traceback" not in result.stderr, result.stderr)
    return result.stdout + result.stderr


def _flip(path):
    with open(path, "r+b") as stream:
        stream.seek(path.stat().st_size // 2)
        byte = stream.read(1)[0]
        stream.seek(path.stat().st_size // 2)
        stream.write(bytes([byte ^ 1]))


def _check_flips(t, folder):
    """A byte that changes is found, whatever file it is in, and the file is named."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
    several = [*paths[::len(paths) // 4], *folder.rglob("space_1.*"), *folder.rglob("redo_*"),
               folder / "backup.json", folder / "backup.sums", *folder.rglob("rowan.backup")]
    for path in several:
        _flip(path)
        said = _refused(t, "--verify", folder)
        t.true(path.name in said, f"{path} was changed: {said}")
        _flip(path)
    _backup(t, "--verify", folder)
    print(f"{len(several)} files with a changed byte were found")


def _source(t, disk=None):
    source = t.new_server(_OPTIONS, binlog=True)
    if disk:
        disk.take(source)
    source.start()
    client = t.client(source)
    client.execute("RESET BINARY LOGS AND GTIDS")
    return source, client


def _restore(t, folder, in_place=False):
    server = t.new_server([*_OPTIONS, "--server-id=2"], binlog=True)
    shutil.rmtree(server.data)
    if in_place:
        server.data.symlink_to(folder / "data")
    else:
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


def _check(t, source, folder, tables, in_place=False):
    restored = _restore(t, folder, in_place)
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
    """A third of the transactions do something more, by default to an InnoDB table."""

    def start(self, more=lambda writer: "INSERT INTO beside (writer, v) VALUES "
                                        f"({writer.number}, {writer.acknowledged})"):
        for writer in self.writers:
            changes = writer._changes
            writer._changes = lambda client, of=writer, rest=changes: (
                rest(client), client.execute(more(of)) if of.random.random() < 0.33 else None)
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
    _backup(t, "--verify", folder / "full", folder / "changes")
    _check_flips(t, folder / "changes")
    _backup(t, "--apply", folder / "full", folder / "changes")
    _backup(t, "--verify", folder / "full")
    _check(t, source, folder / "full", tables)
    print(f"{transactions} transactions, {rows} rows compared twice")


def test_a_branch_goes_its_own_way(t):
    with CloningDisk(t, t.server.folder / "branches", megabytes=4096) as disk:
        source, client = _source(t, disk)
        create_tables(client)
        load = Load(t, source, formats=("ROW",), xa_share=0.3)
        load.start()
        t.wait_for(lambda: load.acknowledged > 50, "transactions")
        folder = disk.folder / "branch"
        said = _backup(t, folder, "--socket", source.socket, "--reflink")
        t.true("tablespaces share their blocks" in said and "copied" not in said, said)
        _backup(t, "--verify", folder)
        _refused(t, disk.folder / "changes", "--socket", source.socket, "--base", folder)
        before = load.acknowledged
        t.wait_for(lambda: load.acknowledged > before + 50, "transactions beside the branch")
        transactions = load.finish()
        rows = _check(t, source, folder, TABLES, in_place=True)
        print(f"{transactions} transactions, {rows} rows compared")
        branch = t.all_servers()[-1]
        branch.start()
        both = [(client, 1), (t.client(branch), 2)]
        for server, number in both:
            server.execute(f"UPDATE wide SET k = {number}")
        for server, number in both:
            t.equal(server.query("SELECT DISTINCT k FROM wide"), [(number,)])


def _grow(client, gibibytes):
    """The table `big` has so many GiB; four rows fill a page."""
    client.execute("CREATE TABLE IF NOT EXISTS big (id INT AUTO_INCREMENT PRIMARY KEY, v INT NOT "
                   "NULL DEFAULT 0, data VARBINARY(3900))")
    client.execute("SET SESSION sql_log_bin = OFF, cte_max_recursion_depth = 100000")
    while client.value("SELECT COALESCE(MAX(id), 0) FROM big") < gibibytes << 18:
        client.execute("INSERT INTO big (data) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT "
                       "i + 1 FROM n WHERE i < 65536) SELECT REPEAT(SHA2(RAND(), 256), 60) FROM n")
    client.execute("SET SESSION sql_log_bin = ON")


def _seconds(work):
    begin = time.monotonic()
    outcome = work()
    return outcome, time.monotonic() - begin


def test_branches_by_size(t):
    """Long runs only: prints how long a branch, a copy and their starts take."""
    if not t.long:
        return
    with CloningDisk(t, t.server.folder / "branches", megabytes=40 << 10) as disk:
        source, client = _source(t, disk)
        create_tables(client)
        for gibibytes in (1, 10):
            _grow(client, gibibytes)
            load = _MixedLoad(t, source, formats=("ROW",), xa_share=0)
            load.start(lambda writer, rows=gibibytes << 18: "UPDATE big SET v = v + 1 WHERE id = "
                       f"{writer.random.randint(1, rows)}")
            load.await_some()
            for option in ("--reflink", "--rate=0"):
                before = load.acknowledged
                folder = disk.folder / f"{gibibytes}{option}"
                copied = _seconds(lambda of=folder, how=option: _backup(
                    t, of, "--socket", source.socket, how))[1]
                wrote = load.acknowledged - before
                server, started = _seconds(lambda of=folder: _restore(t, of, in_place=True))
                print(f"{gibibytes} GiB, {option}: {copied:.1f} s with {wrote} transactions of "
                      f"others, started in {started:.1f} s")
                server.stop()
                if option != "--reflink":
                    shutil.rmtree(folder)
            transactions = load.finish()
            branch = t.all_servers()[-2]
            branch.start()
            _replay(t, source, branch, disk.folder / f"{gibibytes}--reflink")
            rows = compare(t, client, t.client(branch))
            sums = [of.query("CHECKSUM TABLE big")[0][1] for of in (client, t.client(branch))]
            t.true(sums[0] == sums[1] and sums[0], f"checksums of big: {sums}")
            print(f"{transactions} transactions, {rows} rows and all of big compared")
            branch.kill()
            shutil.rmtree(disk.folder / f"{gibibytes}--reflink")


def test_where_nothing_can_be_shared_a_branch_is_a_copy(t):
    source, client = _source(t)
    client.execute("CREATE TABLE x (id INT PRIMARY KEY)")
    client.execute("INSERT INTO x VALUES (1), (2)")
    elsewhere = Path("/dev/shm") / source.folder.name
    try:
        said = _backup(t, elsewhere, "--socket", source.socket, "--reflink")
        t.true("backup: 0 of " in said and "the others were copied" in said, said)
        t.true("cannot be cloned" in source.messages(), source.messages()[-2000:])
        _backup(t, "--verify", elsewhere)
        t.equal(t.client(_restore(t, elsewhere)).value("SELECT COUNT(*) FROM x"), 2)
    finally:
        shutil.rmtree(elsewhere, ignore_errors=True)


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


def _backup_of(t, source, client, tables):
    """Makes InnoDB tables. Returns a function that starts a backup, and one that waits until this
    waits for the writers of a table."""
    for table in tables:
        client.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY) ENGINE=InnoDB")
    observer = t.client(source)

    def await_wait(table):
        t.wait_for(lambda: observer.value(
            "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE lock_status = 'PENDING' "
            f"AND lock_type = 'SHARED_READ_ONLY' AND object_name = '{table}'"),
            f"the backup waits for {table}")

    def begin():
        return subprocess.Popen(
            [str(ROOT / "scripts" / "backup"), str(source.folder / "backup"), "--socket",
             str(source.socket)], stderr=subprocess.PIPE, text=True)
    return begin, await_wait


def test_a_transaction_goes_on_to_other_innodb_tables(t):
    """What it has written is locked first, whatever else there is."""
    source, client = _source(t)
    tables = [f"beside{number}" for number in range(5)]
    begin, await_wait = _backup_of(t, source, client, tables)
    client.execute("BEGIN")
    client.execute("INSERT INTO beside2 VALUES (1)")
    running = begin()
    await_wait("beside2")
    for table in tables:
        client.execute(f"INSERT INTO {table} VALUES (2)")
    client.execute("COMMIT")
    said = running.communicate(timeout=900)[1]
    t.equal(running.returncode, 0, said)
    restored = t.client(_restore(t, source.folder / "backup"))
    t.equal([restored.value(f"SELECT COUNT(*) FROM `{t.database}`.{table}") for table in tables],
            [1, 1, 2, 1, 1])


def test_a_transaction_that_ends_after_what_the_backup_holds_up(t):
    """It commits only when another session has written a table that is locked already, and so has
    it itself: the backup gives way, and nobody fails."""
    source, client = _source(t)
    begin, await_wait = _backup_of(t, source, client, ("first", "later"))
    coordinated, coordinator = t.client(source), t.client(source)
    client.execute("BEGIN")
    client.execute("INSERT INTO first VALUES (1)")
    running = begin()
    await_wait("first")
    coordinated.execute("BEGIN")
    coordinated.execute("INSERT INTO later VALUES (1)")
    client.execute("COMMIT")
    await_wait("later")
    coordinated.execute("INSERT INTO first VALUES (2)")
    coordinator.execute("INSERT INTO first VALUES (3)")
    coordinated.execute("COMMIT")
    said = running.communicate(timeout=900)[1]
    t.equal(running.returncode, 0, said)
    restored = t.client(_restore(t, source.folder / "backup"))
    t.equal([restored.value(f"SELECT COUNT(*) FROM `{t.database}`.{table}")
             for table in ("first", "later")], [3, 1])


def test_a_transaction_that_stays_open(t):
    source, client = _source(t)
    client.execute("CREATE TABLE beside (id INT PRIMARY KEY) ENGINE=InnoDB")
    client.execute("BEGIN")
    client.execute("INSERT INTO beside VALUES (1)")
    target = source.folder / "nothing"
    said = _refused(t, target, "--socket", source.socket, "--lock-timeout", "1")
    t.true(f"beside is written by connection {client.connection_id}\n" in said, said)
    t.true(not target.exists(), "what failed leaves nothing")


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


def test_one_server_after_the_other_is_another_history(t):
    source, client = _source(t)
    client.execute("CREATE TABLE x (id INT PRIMARY KEY, v INT)")
    client.execute("INSERT INTO x VALUES (1, 1)")
    folder = source.folder / "backups"
    folder.mkdir()
    _backup(t, folder / "full", "--socket", source.socket)
    client.execute("UPDATE x SET v = 2")
    _backup(t, folder / "lost", "--socket", source.socket, "--base", folder / "full")
    source.kill()
    restored = _restore(t, folder / "full")
    t.client(restored).execute("UPDATE x SET v = 3")
    said = _refused(t, folder / "wrong", "--socket", restored.socket, "--base", folder / "lost")
    t.true("another history" in said, said)
    t.true("make a full backup" in restored.messages(), restored.messages()[-2000:])
    t.true(not (folder / "wrong").exists(), "what failed leaves nothing")


def test_ends_in_order(t):
    """By a signal while appliers stand still, and with connections that say nothing for long."""
    source, client = _source(t)
    client.execute("CREATE TABLE beside (id INT PRIMARY KEY) ENGINE=InnoDB")
    client.execute("CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=1")
    client.execute("START REPLICA SQL_THREAD")

    def applier():
        return client.value("SELECT service_state FROM "
                            "performance_schema.replication_applier_status")
    t.wait_for(lambda: applier() == "ON", "the applier")
    other = t.client(source)
    other.execute("LOCK TABLES beside WRITE")
    target = source.folder / "ended"
    running = subprocess.Popen(
        [str(ROOT / "scripts" / "backup"), str(target), "--socket", str(source.socket)],
        stderr=subprocess.PIPE, text=True)
    t.wait_for(lambda: applier() == "OFF", "the backup stops the applier")
    t.wait_for(lambda: int(client.value(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'LOCK TABLES%'")) > 0,
        "the backup waits")
    running.send_signal(signal.SIGTERM)
    said = running.communicate(timeout=300)[1]
    t.equal(running.returncode, 128 + signal.SIGTERM, said)
    t.wait_for(lambda: applier() == "ON", "the applier is started again")
    t.true(not target.exists(), "what was ended leaves nothing")
    other.execute("UNLOCK TABLES")
    client.execute("CREATE TABLE made_after (id INT PRIMARY KEY)")
    client.execute("STOP REPLICA")
    client.execute("SET GLOBAL wait_timeout = 1")
    _backup(t, source.folder / "slow", "--socket", source.socket, "--rate", "1")


def test_a_table_that_cannot_be_read(t):
    source, client = _source(t)
    client.execute("CREATE TABLE good (id INT PRIMARY KEY)")
    client.execute("INSERT INTO good VALUES (1), (2)")
    client.execute("CREATE TABLE bad (id INT PRIMARY KEY)")
    t.true(source.stop(), "stopped")
    files = (source.data / "rowan").glob("space_*.rws")
    path = max(files, key=lambda file: int(file.stem.split("_")[1]))
    os.rename(path, source.folder / "lost")
    source.start()
    client = t.client(source)
    t.equal(client.value("SELECT COUNT(*) FROM good"), 2)
    said = _refused(t, source.folder / "whole", "--socket", source.socket)
    log = source.messages()
    t.true(f"'{path}' of table" in log and "bad cannot be read" in log, f"{said}{log[-2000:]}")
    said = _backup(t, source.folder / "rest", "--socket", source.socket, "--leave-out")
    t.true("bad is not in the backup" in said, said)
    _backup(t, "--verify", source.folder / "rest")
    restored = _restore(t, source.folder / "rest")
    client = t.client(restored)
    t.equal(client.value("SELECT COUNT(*) FROM good"), 2)
    t.true(client.error_code("SELECT * FROM bad") != 0, "the table that was left out")
    client.execute("DROP TABLE bad")
    client.execute("CREATE TABLE bad (id INT PRIMARY KEY)")


def test_chains_over_crashes(t):
    """Long runs only: the server is killed between backups of a chain; each copy is restored."""
    if not t.long:
        return
    source, client = _source(t)
    create_tables(client)
    folder = source.folder / "backups"
    folder.mkdir()
    tables = ("acknowledged", "wide", "counted")
    _backup(t, folder / "full", "--socket", source.socket)
    for cycle in range(_CYCLES_LONG):
        load = Load(t, source, formats=("ROW",), xa_share=0.3)
        load.start()
        t.wait_for(lambda seen=load: seen.acknowledged > 100, "transactions")
        increment = folder / f"increment{cycle}"
        _backup(t, increment, "--socket", source.socket, "--base", folder / "full")
        t.true(load.finish() > 0, "transactions")
        source.kill()
        source.start()
        _backup(t, "--verify", folder / "full", increment)
        _backup(t, "--apply", folder / "full", increment)
        _backup(t, "--verify", folder / "full")
        copy = folder / f"copy{cycle}"
        shutil.copytree(folder / "full", copy)
        _check(t, source, copy, tables)
        shutil.rmtree(copy)
        shutil.rmtree(increment)
