# SPDX-License-Identifier: GPL-2.0-only
"""What users and machines do to a server: crowds, little memory, full disks, wrong settings.

An error must be a sentence, the server must go on or stop in good order, and nothing acknowledged
may be lost. Missing, empty and foreign files in the data folder are here; damaged bytes are not.
"""
import collections
import contextlib
import os
import re
import shutil
import struct
import threading

from framework import IS_8_4, Failure
from rowantools.client import ConnectionLost, MysqlError
from rowantools.paths import UserError
from small_disk import SmallDisk

_EXPECTED_UNDER_LOAD = (1062, 1205, 1213)


# --- crowds and little memory ---

def _mixed_work(t, client, number, stop, counts):
    random = t.random.__class__(f"{t.random.random()}/{number}")
    while not stop.is_set() or counts[number] == 0:
        row, kind = random.randrange(2000), random.randrange(8)
        statements = {
            0: [f"SELECT * FROM crowd WHERE id = {row}"],
            1: [f"SELECT COUNT(*), SUM(k) FROM crowd WHERE k BETWEEN {row % 90} AND "
                f"{row % 90 + 3}"],
            2: [f"UPDATE crowd SET k = k + 1 WHERE id = {row}"],
            3: [f"DELETE FROM crowd WHERE id = {row}"],
            4: [f"REPLACE INTO crowd VALUES ({row}, {row % 100}, 'u{row}', REPEAT('c', 150))"],
            5: ["BEGIN", f"UPDATE crowd SET k = k - 1 WHERE id = {row}",
                f"UPDATE crowd SET k = k + 1 WHERE id = {(row * 7) % 2000}", "COMMIT"],
            6: ["BEGIN", f"SELECT * FROM crowd WHERE u = 'u{row}' FOR UPDATE",
                f"UPDATE crowd SET u = 'x{row}' WHERE id = {row}", "ROLLBACK"],
            7: [f"UPDATE crowd SET k = k + 1 WHERE k = {row % 100} LIMIT 5"],
        }[kind]
        try:
            for statement in statements:
                client.execute(statement)
            counts[number] += 1
        except MysqlError as error:
            if error.code not in _EXPECTED_UNDER_LOAD:
                raise
            client.execute("ROLLBACK")


def test_a_crowd(t):
    t.run("CREATE TABLE crowd (id INT PRIMARY KEY, k INT, u VARCHAR(20), c VARCHAR(200), KEY (k), "
          "UNIQUE KEY (u))")
    for low in range(0, 2000, 500):
        t.run("INSERT INTO crowd VALUES " + ", ".join(
            f"({n}, {n % 100}, 'u{n}', REPEAT('c', 150))" for n in range(low, low + 500)))
    sessions, stop = 64, threading.Event()
    counts = [0] * sessions
    work = [lambda client=t.client(), n=n: _mixed_work(t, client, n, stop, counts)
            for n in range(sessions)]
    timer = threading.Timer(30 if t.long else 4, stop.set)
    timer.start()
    t.threads(work, 150)  # each ends when it got something done
    print(f"{sum(counts)} transactions by {sessions} sessions", flush=True)
    t.check_table("crowd")
    rows = t.value("SELECT COUNT(*) FROM crowd FORCE INDEX (PRIMARY)")
    for index in ("k", "u"):
        t.equal(t.value(f"SELECT COUNT(*) FROM crowd FORCE INDEX ({index}) WHERE {index} IS NOT "
                        "NULL"), rows, index)


def test_more_data_than_memory(t):
    server = t.new_server(options=["--loose-rowan-redo-log-capacity=64M"],
                          buffer_pool="64M")
    server.start()
    client = t.client(server, timeout_s=300)
    client.execute("CREATE TABLE big (id INT AUTO_INCREMENT PRIMARY KEY, k INT, c CHAR(120), "
                   "d TEXT, KEY (k))")
    client.execute("INSERT INTO big (k, c, d) VALUES (1, 'c', REPEAT('d', 600))")
    megabytes = 1024 if t.long else 160
    rows = 1
    while rows * 1000 < megabytes * 1000000:
        client.execute("INSERT INTO big (k, c, d) SELECT (id * 7919) % 100003, c, d FROM big "
                       f"LIMIT {min(rows, 20000)}")
        rows = client.value("SELECT COUNT(*) FROM big")
    client.execute("UPDATE big SET k = k + 1 WHERE id % 17 = 0")
    client.execute("DELETE FROM big WHERE id % 13 = 0")
    total = client.query("SELECT COUNT(*), SUM(k) FROM big FORCE INDEX (PRIMARY)")
    t.equal(client.query("SELECT COUNT(*), SUM(k) FROM big FORCE INDEX (k)"), total, "by k")
    server.kill()
    server.start()
    client = t.client(server, timeout_s=300)
    t.equal(client.query("SELECT COUNT(*), SUM(k) FROM big FORCE INDEX (PRIMARY)"), total,
            "after a crash")
    t.check_table("big", client)


# --- a full disk ---

def _fill_until_error(client, start):
    """Inserts until a statement fails; returns (rows acknowledged, the error)."""
    row = start
    try:
        while True:
            client.execute("INSERT INTO fill VALUES " + ", ".join(
                f"({row + n}, {n}, REPEAT('f', 4000))" for n in range(50)))
            row += 50
            if row - start > 200000:
                raise Failure("the disk never filled up")
    except (MysqlError, ConnectionLost) as error:
        return row, error


def _check_full_disk_messages(t, messages):
    """One line for a file; a further one, a minute later, says how many were left out."""
    told = collections.Counter()
    for line in messages.splitlines():
        found = re.search(r"of file '([^']+)' at offset \d+ failed: No space left on device "
                          r"\(errno 28\)(?!;)", line)
        if found:
            told[found[1]] += 1
    t.true(told, "nothing was said of the full disk")
    t.equal({file: count for file, count in told.items() if count > 1}, {}, "told more than once")


def test_full_disk(t):
    if t.engine != "ROWAN":
        t.skip("about our folder")
    with SmallDisk(t, 120) as disk:
        server = t.new_server(options=["--loose-rowan-redo-log-capacity=16M",
                                       f"--loose-rowan-data-home-dir={disk.folder}/rowan"])
        try:
            server.start()
            client = t.client(server)
            client.execute("CREATE TABLE fill (id INT PRIMARY KEY, k INT, v VARCHAR(5000), "
                           "KEY (k))")
            rows, error = _fill_until_error(client, 0)
            t.true(isinstance(error, MysqlError), f"the connection was lost: {error}")
            print(f"full after {rows} rows: {error}", flush=True)
            t.true(error.code in (1021, 1114, 1030, 1026, 3675, 1033), f"unclear error {error}")
            t.true(server.is_running(), "the server died")
            client = t.client(server)
            t.equal(client.value("SELECT COUNT(*) FROM information_schema.engines WHERE engine = "
                                 "'InnoDB'"), 1)
            for _ in range(20):
                with contextlib.suppress(MysqlError):
                    client.execute(f"INSERT INTO fill VALUES ({rows}, 1, REPEAT('f', 4000)), "
                                   f"({rows}, 1, 'a duplicate: nothing is inserted')")
            _check_full_disk_messages(t, server.messages())
            server.kill()
            disk.resize(400)
            server.start()
            client = t.client(server)
            t.equal(client.value("SELECT COUNT(*) FROM fill"), rows, "rows after the disk grew")
            t.equal(client.value("SELECT COUNT(*) FROM fill FORCE INDEX (k) WHERE k >= 0"), rows)
            t.check_table("fill", client)
            client.execute(f"INSERT INTO fill VALUES ({rows + 7}, 1, 'goes on')")
        finally:
            server.destroy()


# --- settings and files ---

def _filled(t, options=()):
    server = t.new_server(options=options)
    server.start()
    client = t.client(server)
    client.execute("CREATE TABLE kept (id INT PRIMARY KEY, k INT, v VARCHAR(100), KEY (k))")
    client.execute("INSERT INTO kept VALUES " + ", ".join(
        f"({n}, {n % 10}, REPEAT('v', {n % 90}))" for n in range(1000)))
    client.close()  # a session that used the plugin keeps it from being uninstalled
    return server


def _check_kept(t, server, rows=1000):
    client = t.client(server)
    t.equal(client.value("SELECT COUNT(*) FROM kept"), rows)
    t.equal(client.value("SELECT COUNT(*) FROM kept FORCE INDEX (k) WHERE k >= 0"), rows)
    t.check_table("kept", client)
    client.close()


def _refused(t, server, *words, options=()):
    """A start at which Rowan must refuse with these words, and the server still runs."""
    server.install_plugin = False
    server.start(options)
    messages = "\n".join(line for line in server.messages().splitlines() if "[Rowan]" in line)
    t.true("[ERROR]" in messages, f"no error message: {messages}")
    for word in words:
        t.true(word in messages, f"'{word}' is not in: {messages[-1500:]}")
    t.error(f"SELECT COUNT(*) FROM {t.database}.kept", (1286, 1146), server.client())
    t.true(server.stop(), "no orderly stop")
    server.install_plugin = True


def test_wrong_options(t):
    if t.engine != "ROWAN":
        t.skip("about our options")
    server = _filled(t)
    t.true(server.stop(), "no orderly stop")
    _refused(t, server, "rowan_page_size", "power of two", options=["--rowan-page-size=5000"])
    _refused(t, server, "rowan_data_home_dir", options=["--rowan-data-home-dir=."])
    # Out of range: the server takes the nearest and warns. The page size is the instance's own.
    server.start(["--rowan-buffer-pool-size=1", "--rowan-redo-log-capacity=10",
                  "--rowan-log-buffer-size=1", "--rowan-purge-threads=1000",
                  "--rowan-page-size=32768"])
    for word in ("rowan_buffer_pool_size", "rowan_redo_log_capacity", "rowan_log_buffer_size",
                 "rowan_purge_threads"):
        t.true(word.replace("_", "-") in server.messages() or word in server.messages(), word)
    _check_kept(t, server)
    t.true("16384" in server.messages(), f"no word about the page size: {server.messages()}")
    t.true(server.stop(), "no orderly stop")
    try:
        server.start(["--rowan-doublewrite=sometimes"])
        raise Failure("a wrong value was accepted")
    except UserError:
        t.true("sometimes" in server.messages(), server.messages()[-1000:])


def test_other_sizes_after_a_restart(t):
    if t.engine != "ROWAN":
        t.skip("about our options")
    server = _filled(t, ["--loose-rowan-page-size=4096"])
    for options in (["--rowan-buffer-pool-size=16M", "--rowan-redo-log-capacity=8M"],
                    ["--rowan-buffer-pool-size=200M", "--rowan-redo-log-capacity=128M"],
                    ["--rowan-doublewrite=off", "--rowan-io-backend=threads"]):
        server.kill()
        server.start(options)
        _check_kept(t, server)


def test_foreign_folder(t):
    if t.engine != "ROWAN":
        t.skip("about our folder")
    server = t.new_server()
    server.initialize()
    folder = server.data / "rowan"
    folder.mkdir()
    (folder / "letters.txt").write_text("not a database")
    server.install_plugin = False
    server.start()
    t.error("INSTALL PLUGIN rowan SONAME 'ha_rowan.so'", (1123, 1126), server.client())
    t.true("[Rowan]" in server.messages() and "not a Rowan data folder" in server.messages(),
           server.messages()[-1500:])
    t.equal(sorted(path.name for path in folder.iterdir()), ["letters.txt"], "the folder")


def _spoil(t, server, name, how, *words):
    """Spoils a file; Rowan must refuse and change nothing. The file is put back."""
    folder, saved = server.data / "rowan", server.folder / "saved"
    path = next(path for path in sorted(folder.iterdir()) if path.name.startswith(name))
    shutil.copy(path, saved)
    others = {file.name: file.read_bytes() for file in folder.iterdir() if file != path}
    how(path)
    try:
        _refused(t, server, *words)
    except Failure as error:
        raise Failure(f"{path.name}: {error}") from error
    for file, content in others.items():
        t.true((folder / file).read_bytes() == content, f"{path.name}: {file} was changed")
    shutil.copy(saved, path)


def test_missing_and_empty_files(t):
    if t.engine != "ROWAN":
        t.skip("about our files")
    server = _filled(t)
    t.true(server.stop(), "no orderly stop")
    empty = lambda path: path.write_bytes(b"")  # noqa: E731
    for name, how in (("rowan.control", os.unlink), ("rowan.control", empty), ("redo_", os.unlink),
                      ("redo_", empty), ("space_1.", os.unlink), ("space_2.", os.unlink)):
        _spoil(t, server, name, how, name.rstrip("."))
    server.start()
    _check_kept(t, server)


def test_newer_format(t):
    if t.engine != "ROWAN":
        t.skip("about our files")
    server = _filled(t)
    t.true(server.stop(), "no orderly stop")
    _spoil(t, server, "rowan.control", _raise_version, "newer")
    server.start()
    _check_kept(t, server)


def _raise_version(path):
    """Makes both slots of the control file ones of a later format, with right checksums."""
    data = bytearray(path.read_bytes())
    for slot in (0, 4096):
        data[slot + 8:slot + 16] = struct.pack("<II", 99, 0)
        data[slot + 12:slot + 16] = struct.pack("<I", _crc32c(data[slot:slot + 4096]))
    path.write_bytes(data)


def _crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 & -(crc & 1))
    return crc ^ 0xFFFFFFFF


def test_missing_table_file(t):
    if t.engine != "ROWAN":
        t.skip("about our files")
    server = _filled(t)
    client = t.client(server)
    client.execute("CREATE TABLE gone (id INT PRIMARY KEY, v INT)")
    client.execute("INSERT INTO gone VALUES (1, 1)")
    t.true(server.stop(), "no orderly stop")
    newest = max((path.name for path in (server.data / "rowan").glob("space_*.rws")),
                 key=lambda name: int(name[len("space_"):-len(".rws")]))
    (server.data / "rowan" / newest).unlink()
    server.start()
    client = t.client(server)
    t.error("SELECT * FROM gone", 1812, client)
    t.true(newest in server.messages(), server.messages()[-1500:])
    _check_kept(t, server)
    client.execute("DROP TABLE gone")
    client.execute("CREATE TABLE gone (id INT PRIMARY KEY, v INT)")
    client.execute("INSERT INTO gone VALUES (2, 2)")


# --- the plugin comes and goes ---

def test_uninstall_names_the_default_engine(t):
    if t.engine != "ROWAN":
        t.skip("about our plugin")
    server = t.new_server()
    server.start()
    client = server.client()
    for variable in ("default_storage_engine", "default_tmp_storage_engine"):
        for scope, whose in (("GLOBAL", "the global"), ("SESSION", "this session's")):
            client.execute(f"SET {scope} {variable} = ROWAN")
            message = t.error("UNINSTALL PLUGIN rowan", 1883, client)
            t.true(whose in message and variable in message, message)
            client.execute(f"SET {scope} {variable} = InnoDB")
        with server.client() as other:
            other.execute(f"SET {variable} = ROWAN")
            message = t.error("UNINSTALL PLUGIN rowan", 1883, client)
            t.true("default_storage_engine: close those sessions" in message, message)
    t.uninstall(client)


def test_tools_that_name_innodb(t):
    """As docs/migrating.md says: the server replaces InnoDB, but not for its own tables."""
    server = t.new_server(("--disabled-storage-engines=InnoDB", "--sql-mode=STRICT_TRANS_TABLES"))
    server.start()
    client = t.client(server)
    for statement in ("SET default_tmp_storage_engine = ROWAN",
                      "CREATE TABLE p (id INT PRIMARY KEY) ENGINE=InnoDB",
                      "CREATE TEMPORARY TABLE i (id INT) ENGINE=InnoDB",
                      "ALTER TABLE p ENGINE=InnoDB", "CREATE USER u", "DROP USER u"):
        client.execute(statement)
    t.equal(client.query("SELECT DISTINCT engine FROM information_schema.tables WHERE"
                         " table_schema = DATABASE()"), [(t.engine,)])
    child = "CREATE TABLE c (p INT, FOREIGN KEY (p) REFERENCES p (id)) ENGINE=InnoDB"
    if IS_8_4:
        t.error(child, 1178, client)
    else:
        client.execute(child)
        t.error("INSERT INTO c VALUES (1)", 1452, client)
    client.execute("SET sql_mode = 'NO_ENGINE_SUBSTITUTION'")
    t.error("CREATE TABLE e (id INT) ENGINE=InnoDB", 3161, client)


def test_uninstall_and_install(t):
    if t.engine != "ROWAN":
        t.skip("about our plugin")
    server = _filled(t)
    table = f"{t.database}.kept"
    for _ in range(2 if t.long else 1):
        reader, other = server.client(), server.client()
        reader.execute("BEGIN")
        t.equal(reader.value(f"SELECT COUNT(*) FROM {table}"), 1000)
        t.error("UNINSTALL PLUGIN rowan", 1883, other)
        reader.execute(f"UPDATE {table} SET k = k + 1 WHERE id < 10")
        reader.execute("COMMIT")
        reader.close()
        other.execute("FLUSH TABLES")
        t.uninstall(other)
        t.error(f"SELECT COUNT(*) FROM {table}", 1286, other)
        other.close()
        other = server.client()
        other.execute("INSTALL PLUGIN rowan SONAME 'ha_rowan.so'")
        t.true(server.is_running(), "the server died")
        t.equal(other.value(f"SELECT COUNT(*) FROM {table}"), 1000)
        other.execute(f"UPDATE {table} SET k = k - 1 WHERE id < 10")
        other.close()
    _check_kept(t, server)
    t.true(server.stop(), "no orderly stop")
    server.start()
    _check_kept(t, server)


def test_start_without_the_plugin_and_back(t):
    if t.engine != "ROWAN":
        t.skip("about our plugin")
    server = _filled(t)
    plugin = server.plugin
    t.true(server.stop(), "no orderly stop")
    server.plugin, server.install_plugin = server.folder / "absent.so", False
    (server.folder / "plugins" / "ha_rowan.so").unlink()
    server.start()
    t.error(f"SELECT * FROM {t.database}.kept", (1286, 1146), server.client())
    t.error(f"DROP TABLE {t.database}.kept", (1286, 1146), server.client())
    t.true(server.stop(), "no orderly stop")
    server.plugin, server.install_plugin = plugin, True
    server.start()
    _check_kept(t, server)
