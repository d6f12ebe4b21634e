# SPDX-License-Identifier: GPL-2.0-only
"""What keeps a server's Rowan instance from opening, and that the refusal harms nothing."""
import os
import re
import shutil

from rowantools.client import MysqlError

_WRONG_VALUE_FOR_VAR = 1231


def _rowan_runs(server):
    with server.client() as client:
        rows = client.query("SELECT support FROM information_schema.engines WHERE engine = 'ROWAN'")
    return bool(rows) and rows[0][0] in ("YES", "DEFAULT")


def _try_to_start(server, options=()):
    """True if the server runs with Rowan; its messages say why not."""
    try:
        server.start(options)
    except Exception:  # whatever keeps it from starting: the error log must say why
        return False
    return _rowan_runs(server)


def test_two_servers_one_folder(t):
    shared = os.path.join(str(t.server.folder), "shared")
    options = [f"--loose-rowan-data-home-dir={shared}"]
    first, second = (t.new_server(options) for _ in range(2))
    try:
        first.start()
        client = t.client(first)
        client.execute("CREATE TABLE kept (id INT PRIMARY KEY, v INT)")
        client.execute("INSERT INTO kept VALUES (1, 10), (2, 20)")
        t.true(not _try_to_start(second), "a second server opened the folder")
        t.true("another process has the instance open" in second.messages(), second.messages())
        second.kill()
        client.execute("INSERT INTO kept VALUES (3, 30)")
        t.equal(int(client.value("SELECT SUM(v) FROM kept")), 60)
        t.check_table("kept", client)
        # The lock dies with its process: the next start needs nobody's help.
        first.kill()
        first.start()
        t.equal(int(t.client(first).value("SELECT SUM(v) FROM kept")), 60)
        t.true(first.stop(), "no orderly shutdown")
        t.true(_try_to_start(second), second.messages())
    except MysqlError as error:
        t.true(False, f"{error}: {first.messages()}")
    finally:
        first.kill()
        second.kill()
        shutil.rmtree(shared, ignore_errors=True)


def test_a_folder_that_cannot_be_read_is_not_called_empty(t):
    server = t.new_server()
    server.start()
    client = t.client(server)
    client.execute("CREATE TABLE kept (id INT PRIMARY KEY)")
    client.execute("INSERT INTO kept VALUES (1)")
    t.true(server.stop(), "no orderly shutdown")
    folder = os.path.join(str(server.data), "rowan")
    os.rename(folder, folder + "_away")
    os.symlink(folder, folder)  # leads to itself: not even root can look into it
    for options in ([], ["--loose-rowan-new-instance=ON"]):
        t.true(not _try_to_start(server, options), "started without its folder")
        said = server.messages()
        t.true(f"'{folder}' cannot be read by user" in said, said)
        t.true("rowan_new_instance" not in said and "given up" not in said, said)
        server.kill()
    os.remove(folder)
    os.rename(folder + "_away", folder)
    server.start()
    t.equal(int(t.client(server).value("SELECT COUNT(*) FROM kept")), 1)


def _default_engines(server):
    with server.client() as client:
        return client.query("SELECT @@global.default_storage_engine, @@default_storage_engine, "
                            "@@default_tmp_storage_engine")[0]


def test_default_engine_after_restart(t):
    """The server loads installed plugins before it looks for its default engine."""
    server = t.new_server()
    server.option_file = server.folder / "my.cnf"
    server.option_file.write_text("[mysqld]\n")
    server.start()
    with server.client() as client:
        client.execute("SET PERSIST default_storage_engine = ROWAN, "
                       "PERSIST default_tmp_storage_engine = ROWAN")
    server.restart()
    t.equal(_default_engines(server), ("ROWAN",) * 3, "persisted")
    # Without Rowan a persisted default is lost for this start, with a message.
    server.stop()
    server.install_plugin = False
    server.start(["--rowan=OFF"])
    t.equal(_default_engines(server), ("InnoDB",) * 3, "persisted, without Rowan")
    t.true("Unknown storage engine 'ROWAN'" in server.messages(), server.messages())
    # The option file's is kept, or the server does not start.
    server.stop()
    (server.data / "mysqld-auto.cnf").unlink()
    server.option_file.write_text("[mysqld]\ndefault-storage-engine = ROWAN\n")
    t.true(not _try_to_start(server, ["--rowan=OFF"]), "started without its default engine")
    t.true("Unknown/unsupported storage engine: ROWAN" in server.messages(), server.messages())
    server.kill()
    server.start()
    t.equal(_default_engines(server), ("ROWAN", "ROWAN", "InnoDB"), "option file")


def test_a_pool_larger_than_the_memory(t):
    if t.engine != "ROWAN":
        t.skip("about our messages")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    far_too_much = max(4 << 40, 16 * memory)
    server = t.new_server()
    t.true(not _try_to_start(server, [f"--loose-rowan-buffer-pool-size={far_too_much}"]),
           "Rowan runs without the memory for its descriptors")
    refusal = re.search(rf"rowan_buffer_pool_size = {far_too_much} \([0-9.]+ GiB\) is refused.*"
                        r"(?:machine has|process may take) ([0-9.]+) GiB", server.messages())
    t.true(refusal, server.messages())
    t.true(not (server.data / "rowan").exists(), "an instance was created")
    server.stop()
    # What control groups allow counts, too, so the figure is the server's.
    much = int(2 * float(refusal[1]) * 2**30) >> 20 << 20
    t.true(_try_to_start(server, [f"--loose-rowan-buffer-pool-size={much}"]), server.messages())
    t.true(f"rowan_buffer_pool_size = {much}" in server.messages()
           and "is more than there is" in server.messages(), server.messages())
    with server.client() as client:
        t.equal(int(client.value("SELECT @@rowan_buffer_pool_size")), much)
        client.execute("CREATE DATABASE beyond")
        client.execute("CREATE TABLE beyond.t (id INT PRIMARY KEY) ENGINE=ROWAN")
        client.execute("INSERT INTO beyond.t VALUES (1), (2)")
        t.error(f"SET GLOBAL rowan_buffer_pool_size = {far_too_much}", _WRONG_VALUE_FOR_VAR, client)
        t.equal(int(client.value("SELECT @@rowan_buffer_pool_size")), much)
        client.execute("SET GLOBAL rowan_buffer_pool_size = 67108864")
        t.equal(int(client.value("SELECT SUM(id) FROM beyond.t")), 3)
        warned = server.messages().count("is more than there is")
        client.execute(f"SET GLOBAL rowan_buffer_pool_size = {much}")
        t.equal(server.messages().count("is more than there is"), warned + 1, "a warning again")
