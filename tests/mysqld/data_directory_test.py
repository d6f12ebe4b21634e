# SPDX-License-Identifier: GPL-2.0-only
"""DATA DIRECTORY of tables and partitions: where the files are after each kind of statement, after
kill -9 in the midst of them, without their disk, and after a backup and its restore."""
import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
from functools import partial
from pathlib import Path

import pytest

from framework import ENGINE, ROOT
from rowantools.client import Client, ConnectionLost, MysqlError

_NOT_SUPPORTED, _WRONG_FILE_NAME, _CANT_CREATE = 1478, 3121, 1004
_TABLESPACE_MISSING, _WRONG_VALUE, _WRONG_ARGUMENTS = 1812, 1525, 1210
_ACCESS_DENIED = 1045
_CYCLES = 2
# Beside the data directory, from which the server resolves it.
_KNOWN = "--innodb-directories=../disks"
pytestmark = pytest.mark.server(options=[_KNOWN])


def _place(t, server, name="disk"):
    """A folder outside of the server's data directory, beside it."""
    if ENGINE != "ROWAN":
        t.skip("Rowan's files have names of their own")
    disks = server.folder / "disks"
    disks.mkdir(exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=disks))


def _placed(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _links(server):
    """What the links of the instance folder lead to; of trash, too."""
    found = []
    for path in (server.data / "rowan").iterdir():
        with contextlib.suppress(FileNotFoundError):  # trash goes meanwhile
            if path.is_symlink():
                found.append(Path(os.readlink(path)))
    return found


def _expect_files(t, server, folder, count, what):
    """So many once the trash is gone, each with one link."""
    t.wait_for(lambda: len(_placed(folder)) == count and len(_links(server)) == count,
               f"{count} files after {what}: {_placed(folder)}, {_links(server)}")
    t.equal(sorted(_links(server)), _placed(folder), f"links after {what}")


def _directories(t, table, client=None):
    """The directories that SHOW CREATE TABLE has."""
    text = client.query(f"SHOW CREATE TABLE {table}")[0][1] if client else t.run(
        f"SHOW CREATE TABLE {table}")[0][1]
    return [found.rstrip("/") for found in re.findall(r"DATA DIRECTORY *= *'([^']*)'", text)]


def test_statements_leave_a_table_where_it_is(t):
    folder = _place(t, t.server)
    here = str(folder)
    t.run(f"CREATE TABLE a (id INT PRIMARY KEY, v INT, KEY (v)) DATA DIRECTORY='{here}'",
          "INSERT INTO a VALUES (1, 10), (2, 20), (3, 30)")
    t.equal(_placed(folder)[0].parent, folder / t.database, "a folder of the schema")
    for statement in ("ALTER TABLE a ADD COLUMN n INT, ALGORITHM=INSTANT",
                      "ALTER TABLE a ADD KEY (n), ALGORITHM=INPLACE",
                      "ALTER TABLE a FORCE, ALGORITHM=INPLACE",
                      "ALTER TABLE a MODIFY v BIGINT, ALGORITHM=COPY",
                      "OPTIMIZE TABLE a", "CREATE INDEX w ON a (v, n)", "ANALYZE TABLE a",
                      "RENAME TABLE a TO b", "RENAME TABLE b TO a"):
        t.run(statement)
        t.equal(_directories(t, "a" if not statement.endswith("b") else "b"), [here], statement)
        _expect_files(t, t.server, folder, 1, statement)
    t.rows("SELECT id, v FROM a", [(1, 10), (2, 20), (3, 30)])
    t.run("ALTER TABLE a DATA DIRECTORY='/tmp'")
    t.equal([int(row[1]) for row in t.run("SHOW WARNINGS")], [1618], "as with InnoDB")
    t.run("CREATE TABLE like_a LIKE a")
    t.equal((_directories(t, "a"), _directories(t, "like_a")), ([here], []), "LIKE")
    _expect_files(t, t.server, folder, 1, "LIKE")
    _move_rows(t)
    t.equal(_directories(t, "a"), [here], "IMPORT")
    t.run("TRUNCATE TABLE a", "INSERT INTO a VALUES (7, 70, 700)")
    t.equal(_directories(t, "a"), [here], "TRUNCATE")
    _expect_files(t, t.server, folder, 1, "TRUNCATE")
    t.check_table("a")
    t.run("DROP TABLE a")
    _expect_files(t, t.server, folder, 0, "DROP")


def _move_rows(t):
    exported = t.server.data / t.database / "a.rwx"
    t.run("FLUSH TABLES a FOR EXPORT")
    shutil.copy(exported, t.server.folder / "kept.rwx")
    t.run("UNLOCK TABLES", "ALTER TABLE a DISCARD TABLESPACE")
    shutil.copy(t.server.folder / "kept.rwx", exported)
    t.run("ALTER TABLE a IMPORT TABLESPACE")
    exported.unlink()
    t.rows("SELECT id, v FROM a", [(1, 10), (2, 20), (3, 30)])


def test_partitions(t):
    one, two = _place(t, t.server, "one"), _place(t, t.server, "two")
    t.run("CREATE TABLE p (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id) ("
          f"PARTITION p0 VALUES LESS THAN (10) DATA DIRECTORY='{one}', "
          f"PARTITION p1 VALUES LESS THAN (20) DATA DIRECTORY='{two}', "
          "PARTITION p2 VALUES LESS THAN (30))",
          "INSERT INTO p VALUES (1, 1), (2, 2), (11, 11), (21, 21)")

    def expect(count_one, count_two, shown, what):
        t.wait_for(lambda: (len(_placed(one)), len(_placed(two))) == (count_one, count_two),
                   f"files after {what}: {_placed(one)}, {_placed(two)}")
        t.equal(_directories(t, "p"), [str(folder) for folder in shown], what)
    expect(1, 1, [one, two], "CREATE")
    t.run(f"ALTER TABLE p ADD PARTITION (PARTITION p3 VALUES LESS THAN (40) "
          f"DATA DIRECTORY='{one}')", "ALTER TABLE p REBUILD PARTITION p0, p2")
    expect(2, 1, [one, two, one], "ADD and REBUILD")
    t.run("ALTER TABLE p TRUNCATE PARTITION p3", "ALTER TABLE p ADD COLUMN w INT",
          "ALTER TABLE p FORCE, ALGORITHM=COPY", "OPTIMIZE TABLE p")
    expect(2, 1, [one, two, one], "copies")
    t.run("ALTER TABLE p REORGANIZE PARTITION p0 INTO (PARTITION p00 VALUES LESS THAN (2) "
          f"DATA DIRECTORY='{two}', PARTITION p01 VALUES LESS THAN (10))")
    expect(1, 2, [two, two, one], "REORGANIZE")
    t.run("CREATE TABLE x (id INT PRIMARY KEY, v INT, w INT)", "INSERT INTO x VALUES (12, 12, 1)",
          "ALTER TABLE p EXCHANGE PARTITION p1 WITH TABLE x")
    expect(1, 2, [two, one], "EXCHANGE")
    t.equal(_directories(t, "x"), [str(two)], "EXCHANGE")
    t.rows("SELECT id FROM p", [(1,), (2,), (12,), (21,)])
    t.run("ALTER TABLE p EXCHANGE PARTITION p1 WITH TABLE x")
    expect(1, 2, [two, two, one], "EXCHANGE back")
    t.run("CREATE TABLE like_p LIKE p", "TRUNCATE TABLE like_p", "DROP TABLE like_p")
    t.run("ALTER TABLE p DROP PARTITION p3")
    expect(0, 2, [two, two], "DROP PARTITION")
    t.check_table("p")
    t.run("DROP TABLE p, x")
    t.wait_for(lambda: not _placed(two), "files after DROP")
    t.run("CREATE TABLE s (id INT, d INT) PARTITION BY RANGE (id) SUBPARTITION BY HASH (d) ("
          f"PARTITION p0 VALUES LESS THAN (10) DATA DIRECTORY='{one}' (SUBPARTITION a, "
          "SUBPARTITION b), PARTITION p1 VALUES LESS THAN (20) (SUBPARTITION c, "
          f"SUBPARTITION d DATA DIRECTORY='{two}'))", "INSERT INTO s VALUES (1, 1), (11, 2)")
    t.equal((len(_placed(one)), len(_placed(two))), (2, 1), "subpartitions")
    t.run("TRUNCATE TABLE s", "DROP TABLE s",
          f"CREATE TABLE h (id INT PRIMARY KEY) DATA DIRECTORY='{one}' PARTITION BY HASH (id) "
          "PARTITIONS 3", "INSERT INTO h VALUES (1), (2), (3)", "ALTER TABLE h FORCE")
    t.wait_for(lambda: (len(_placed(one)), len(_placed(two))) == (3, 0), "hash partitions")
    t.run("DROP TABLE h")
    _expect_files(t, t.server, one, 0, "DROP")


def test_what_is_refused(t):
    folder = _place(t, t.server)
    table = "CREATE TABLE x (id INT PRIMARY KEY)"
    t.run("SET SESSION innodb_strict_mode = ON")
    t.error(f"{table} DATA DIRECTORY='/no/such'", _WRONG_FILE_NAME)
    t.error(f"{table} DATA DIRECTORY='relative'", _WRONG_VALUE)
    t.error(f"{table} DATA DIRECTORY='{t.server.data}/{t.database}'", _WRONG_ARGUMENTS)
    t.error(f"{table} INDEX DIRECTORY='{folder}'", _NOT_SUPPORTED)
    t.error(f"CREATE TEMPORARY {table[7:]} ENGINE=ROWAN DATA DIRECTORY='{folder}'", _NOT_SUPPORTED)
    t.error(f"{table} PARTITION BY HASH (id) (PARTITION p DATA DIRECTORY='/no')",
            _WRONG_FILE_NAME)
    # It is there, but innodb_directories has it not, be it by a name that seems to be below.
    outside, link = t.server.folder / "outside", folder / "link"
    outside.mkdir()
    link.symlink_to(outside)
    for unknown in (outside, link, f"{folder}/../../outside"):
        t.error(f"{table} DATA DIRECTORY='{unknown}'", _WRONG_FILE_NAME)
    link.unlink()
    # Known, but nothing can be made in it, by root neither.
    barred = folder.parent / "file" / "below"
    barred.parent.write_text("no folder")
    t.error(f"{table} DATA DIRECTORY='{barred}'", _CANT_CREATE)
    t.error(f"{table} PARTITION BY HASH (id) (PARTITION p, PARTITION q DATA DIRECTORY='{barred}')",
            _CANT_CREATE)
    t.run("CREATE USER plain@localhost", f"GRANT ALL ON `{t.database}`.* TO plain@localhost")
    try:
        plain = Client(t.server.socket, user="plain", database=t.database)
        plain.execute("SET default_storage_engine = ROWAN")
        t.error(f"{table} DATA DIRECTORY='{folder}'", _ACCESS_DENIED, plain)
        t.run(f"CREATE TABLE y (id INT PRIMARY KEY, v INT) DATA DIRECTORY='{folder}'")
        for statement in ("ALTER TABLE y ADD KEY (v), ALGORITHM=COPY", "TRUNCATE TABLE y"):
            plain.execute(statement)
            t.equal(_directories(t, "y"), [str(folder)], statement)
        for name in ("a/b", "../x", "../../outside/x"):
            plain.execute(f"RENAME TABLE y TO `{name}`")
            plain.execute(f"ALTER TABLE `{name}` FORCE, ALGORITHM=COPY")
            t.equal(_directories(t, f"`{name}`"), [str(folder)], name)
            plain.execute(f"RENAME TABLE `{name}` TO y")
            _expect_files(t, t.server, folder, 1, name)
        plain.close()
    finally:
        t.run("DROP USER plain@localhost")
    t.run("DROP TABLE y", "SET SESSION innodb_strict_mode = OFF")
    t.run(f"{table} DATA DIRECTORY='/no/such' INDEX DIRECTORY='{folder}'")
    t.equal({int(row[1]) for row in t.run("SHOW WARNINGS")}, {_WRONG_FILE_NAME, 1618}, "warnings")
    t.equal(_directories(t, "x"), [], "ignored")
    t.run("SET SESSION innodb_strict_mode = ON", "SET sql_mode = 'NO_DIR_IN_CREATE'",
          "DROP TABLE x", f"{table} DATA DIRECTORY='{folder}'", "SET sql_mode = DEFAULT")
    t.equal(_directories(t, "x"), [], "NO_DIR_IN_CREATE")
    _expect_files(t, t.server, folder, 0, "refusals")


def test_without_its_disk(t):
    server = t.new_server()
    folder = _place(t, server)
    known = folder / "known"
    server.start([f"--innodb-directories={known}"])
    client = t.client(server)
    client.execute(f"CREATE TABLE a (id INT PRIMARY KEY, v INT) DATA DIRECTORY='{known}/deep'")
    client.execute("CREATE TABLE b (id INT PRIMARY KEY)")
    client.execute("INSERT INTO a VALUES (1, 1), (2, 2)")
    client.execute("INSERT INTO b VALUES (1)")
    client.execute("CREATE TABLE p (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION old "
                   f"VALUES LESS THAN (10) DATA DIRECTORY='{known}', "
                   "PARTITION now VALUES LESS THAN (20))")
    client.execute("INSERT INTO p VALUES (1), (11)")
    t.true(server.stop(), "no orderly shutdown")
    away = folder.parent / "away"
    folder.rename(away)
    server.start()
    client = t.client(server)
    t.error("SELECT * FROM a", _TABLESPACE_MISSING, client)
    t.error("TRUNCATE TABLE a", _TABLESPACE_MISSING, client)
    client.execute("INSERT INTO b VALUES (2)")
    client.execute("INSERT INTO p VALUES (12)")
    t.error("SELECT * FROM p", _TABLESPACE_MISSING, client)
    t.error("ALTER TABLE p TRUNCATE PARTITION old", _TABLESPACE_MISSING, client)
    t.equal(client.query("SELECT * FROM p WHERE id > 10"), [(11,), (12,)], "the other partition")
    log = server.messages()
    t.true(f"'{known}/deep/{t.database}/space_" in log and "Is its disk mounted?" in log, log)
    t.true(not folder.exists(), "a folder was made in the place of the disk")
    away.rename(folder)
    t.equal(len(client.query("SELECT * FROM a")), 2, "rows with the disk")
    client.execute("FLUSH TABLES p")
    t.equal(len(client.query("SELECT * FROM p")), 3, "all partitions with the disk")
    client.execute("INSERT INTO a VALUES (3, 3)")
    server.kill()
    folder.rename(away)
    server.start(wait=False)
    t.wait_for(lambda: "mount its disk and start again" in server.messages(), "a refusal to start")
    server.kill()
    away.rename(folder)
    server.start()
    client = t.client(server)
    t.equal(len(client.query("SELECT * FROM a")), 3, "rows after the crash")
    t.check_table("a", client)
    t.true(server.stop(), "no orderly shutdown")


class _Unreadable:
    """A directory that cannot be looked into, not even by root: a link that leads to itself."""

    def __init__(self, folder):
        self._folder = folder
        self._away = folder.parent / "away"

    def __enter__(self):
        self._folder.rename(self._away)
        self._folder.symlink_to(self._folder)

    def __exit__(self, *_):
        self._folder.unlink()
        self._away.rename(self._folder)


def _expect_beside(t, server, rows):
    """Table b can be used, table a cannot, and nobody says that it is damaged."""
    client = t.client(server)
    client.execute("INSERT INTO b VALUES (NULL)")
    t.equal(int(client.value("SELECT COUNT(*) FROM b")), rows, "the other table")
    message = t.error("SELECT * FROM a", (1296, 1030, 1812), client)
    t.true("corrupt" not in message, message)


def _expect_whole(t, server, rows):
    server.start()
    client = t.client(server)
    t.equal(int(client.value("SELECT COUNT(*) FROM a")), rows, "rows once it can be read")
    t.check_table("a", client)
    names = os.listdir(os.path.join(str(server.data), "rowan"))
    t.true(not [name for name in names if name.endswith(".damaged")], f"marked: {names}")
    client.execute(f"INSERT INTO a VALUES ({rows + 1}, 1)")


def test_with_a_directory_that_cannot_be_read(t):
    server = t.new_server()
    folder = _place(t, server)
    known = folder / "known"
    server.start([f"--innodb-directories={known}"])
    client = t.client(server)
    client.execute(f"CREATE TABLE a (id INT PRIMARY KEY, v INT) DATA DIRECTORY='{known}/deep'")
    client.execute("CREATE TABLE b (id INT AUTO_INCREMENT PRIMARY KEY)")
    client.execute("INSERT INTO a VALUES (1, 1), (2, 2)")
    t.true(server.stop(), "no orderly shutdown")
    count = 0
    for options in ([], ["--loose-rowan-force-recovery=1"]):
        with _Unreadable(folder):
            count += 1
            server.start(options)
            _expect_beside(t, server, count)
            t.true(server.stop(), "no orderly shutdown")
        _expect_whole(t, server, 1 + count)
        t.true(server.stop(), "no orderly shutdown")
    server.start()
    t.client(server).execute("INSERT INTO a VALUES (5, 5)")
    server.kill()
    with _Unreadable(folder):
        server.start(wait=False)
        t.wait_for(lambda: "rowan_force_recovery = 1 serves the others" in server.messages(),
                   "a refusal to start")
        server.kill()
        t.true("rowan_new_instance" not in server.messages(), "the wrong advice")
        for _ in range(2):
            count += 1
            server.start(["--loose-rowan-force-recovery=1"])
            _expect_beside(t, server, count)
            t.true(server.stop(), "no orderly shutdown")
    _expect_whole(t, server, 5)
    t.true(server.stop(), "no orderly shutdown")


def _change(t, server, folder, number, stop):
    """CREATE, TRUNCATE, rebuild and DROP, over and over, until the server dies."""
    try:
        client = t.client(server)
        client.execute(f"DROP TABLE IF EXISTS t{number}")
        while not stop.is_set():
            for statement in (
                    f"CREATE TABLE t{number} (id INT PRIMARY KEY, v INT) DATA DIRECTORY='{folder}'",
                    f"INSERT INTO t{number} VALUES (1, 1), (2, 2)", f"TRUNCATE TABLE t{number}",
                    f"INSERT INTO t{number} VALUES (3, 3)", f"ALTER TABLE t{number} FORCE",
                    f"DROP TABLE t{number}"):
                client.execute(statement)
    except (ConnectionLost, MysqlError, OSError):
        return  # the server is gone


def test_kill_in_the_midst(t):
    server = t.new_server([_KNOWN])
    folder = _place(t, server)
    server.start()
    for cycle in range(_CYCLES):
        stop = threading.Event()
        changes = [partial(_change, t, server, folder, n, stop) for n in range(2)]
        t.kill_among(server, changes, stop, t.random.uniform(0.2, 0.9))
        server.start()
        client = t.client(server)
        tables = [row[0] for row in client.query("SHOW TABLES")]
        for table in tables:
            t.check_table(table, client)
            t.equal(_directories(t, table, client), [str(folder)], table)
        _expect_files(t, server, folder, len(tables), f"crash {cycle}")
        lost = server.data / "rowan" / "lost"
        t.true(not lost.exists() or not list(lost.iterdir()), "a file was set aside")


def test_backup_and_restore(t):
    server = t.new_server(["--performance-schema=ON", _KNOWN], binlog=True)
    folder = _place(t, server)
    server.start()
    client = t.client(server)
    client.execute(f"CREATE TABLE a (id INT PRIMARY KEY, v INT) DATA DIRECTORY='{folder}'")
    client.execute("CREATE TABLE p (id INT PRIMARY KEY) PARTITION BY HASH (id) (PARTITION p0 "
                   f"DATA DIRECTORY='{folder}', PARTITION p1)")
    client.execute("INSERT INTO a VALUES (1, 1), (2, 2)")
    client.execute("INSERT INTO p VALUES (1), (2), (3)")
    full, changes = server.folder / "full", server.folder / "changes"
    _backup(t, full, "--socket", server.socket)
    client.execute("INSERT INTO a VALUES (3, 3)")
    _backup(t, changes, "--socket", server.socket, "--base", full)
    _backup(t, "--apply", full, changes)
    t.true(server.stop(), "no orderly shutdown")  # it writes to its files no more
    restored = t.new_server(["--performance-schema=ON", "--server-id=2",
                             f"--innodb-directories={folder.parent}"], binlog=True)
    shutil.rmtree(restored.data)
    shutil.copytree(full / "data", restored.data)
    before = {path: path.stat().st_mtime_ns for path in _placed(folder)}
    restored.start()
    copy = t.client(restored)
    rows = [len(copy.query(f"SELECT * FROM {table}")) for table in ("a", "p")]
    t.equal(rows, [3, 3], "rows")
    t.equal((_links(restored), _directories(t, "a", copy)), ([], []), "inside the data directory")
    for statement in ("INSERT INTO a VALUES (4, 4)", "TRUNCATE TABLE a", "ALTER TABLE a FORCE",
                      "ALTER TABLE p TRUNCATE PARTITION p0", "DROP TABLE a"):
        copy.execute(statement)
    t.check_table("p", copy)
    copy.execute("DROP TABLE p")
    t.true(restored.stop(), "no orderly shutdown")
    after = {path: path.stat().st_mtime_ns for path in _placed(folder)}
    t.equal(after, before, "the source's files")
    for one in (server, restored):
        one.start()
    client = t.client(server)
    t.equal(len(client.query("SELECT * FROM a")), 3, "rows of the source")
    _share_a_directory(t, client, t.client(restored), _place(t, server))
    t.true(restored.stop(), "no orderly shutdown")


def _share_a_directory(t, client, copy, folder):
    """Two servers of one origin make tables in the same directory, with the same ids."""
    for number in range(4):
        for one in (client, copy):
            one.execute(f"CREATE TABLE n{number} (id INT PRIMARY KEY) DATA DIRECTORY='{folder}'")
            one.execute(f"INSERT INTO n{number} VALUES ({number})")
    for one in (copy, client):
        for number in range(4):
            t.equal(one.query(f"SELECT * FROM n{number}"), [(number,)], f"n{number}")
            one.execute(f"DROP TABLE n{number}")
    t.wait_for(lambda: not _placed(folder), "no files after DROP")


def _backup(t, *arguments):
    result = subprocess.run([str(ROOT / "scripts" / "backup"), *map(str, arguments)], text=True,
                            capture_output=True, timeout=900)
    t.true(result.returncode == 0, f"scripts/backup {arguments}: {result.stdout}{result.stderr}")
