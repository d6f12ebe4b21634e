#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What an administrator meets: a missing data folder, CLONE, options and variables that say what is
in force."""
import shutil

from framework import main

_NOT_SUPPORTED_YET, _UNKNOWN_ENGINE, _WRONG_VALUE = 1235, 1286, 1525
_IGNORED_OPTION = 1478


def test_missing_instance_is_refused(t):
    """A folder that is gone or mistyped must not become a new instance beside a full dictionary."""
    if t.engine != "ROWAN":
        t.skip("about our files")
    server = t.new_server()
    server.start()  # nothing in the dictionary yet: this one creates
    client = t.client(server)
    client.execute("CREATE TABLE precious (id INT PRIMARY KEY)")
    client.execute("INSERT INTO precious VALUES (1), (2)")
    t.true(server.stop(), "no orderly stop")
    server.install_plugin = False
    typo = server.data / "typo"
    server.start(("--loose-rowan-data-home-dir=typo",))
    messages = server.messages()
    t.true(f"{t.database}.precious" in messages and "rowan_new_instance" in messages
           and str(typo) in messages, messages[-2000:])
    t.true(not typo.exists(), f"{typo} was created")
    t.error(f"SELECT * FROM {t.database}.precious", _UNKNOWN_ENGINE, server.client())
    t.true(server.stop(), "no orderly stop")
    shutil.rmtree(server.data / "rowan")
    server.install_plugin = True
    server.start(("--loose-rowan-new-instance=ON", "--loose-rowan-log-buffer-size=300000"))
    client = t.client(server)
    t.true("given up" in server.messages(), server.messages()[-2000:])
    t.equal(client.value("SELECT @@rowan_log_buffer_size"), 524288)
    client.execute("CREATE TABLE fresh (id INT PRIMARY KEY)")
    client.execute("INSERT INTO fresh VALUES (3)")
    client.execute("DROP TABLE precious")
    t.true(server.stop(), "no orderly stop")
    server.start(("--loose-rowan-page-size=8192",))
    client = t.client(server)
    t.equal(client.value("SELECT @@rowan_page_size"), 16384)
    t.equal(client.query("SELECT * FROM fresh"), [(3,)])


def test_clone_is_refused(t):
    if t.engine != "ROWAN":
        t.skip("InnoDB is cloned")
    server = t.new_server()
    server.start()
    client = t.client(server)
    client.execute("INSTALL PLUGIN clone SONAME 'mysql_clone.so'")
    client.execute("CREATE TABLE left_out (id INT PRIMARY KEY)")
    target = server.folder / "copy"
    message = t.error(f"CLONE LOCAL DATA DIRECTORY = '{target}'", _NOT_SUPPORTED_YET, client)
    t.true(f"{t.database}/left_out" in message, message)
    t.true(not (target / "mysql.ibd").exists(), "a copy was made")
    client.execute("DROP TABLE left_out")
    shutil.rmtree(target, ignore_errors=True)
    client.execute(f"CLONE LOCAL DATA DIRECTORY = '{target}'")
    t.true((target / "mysql.ibd").exists(), "no copy was made")
    client.execute("UNINSTALL PLUGIN clone")


def test_options_are_not_ignored_silently(t):
    if t.engine != "ROWAN":
        t.skip("InnoDB has these options")
    client = t.client()
    client.execute("CREATE TABLE old (id INT PRIMARY KEY) ENGINE=InnoDB KEY_BLOCK_SIZE=8 "
                   "ROW_FORMAT=COMPRESSED")
    for statement in ("CREATE TABLE x (id INT PRIMARY KEY) KEY_BLOCK_SIZE=8",
                      "CREATE TABLE x (id INT PRIMARY KEY) AUTOEXTEND_SIZE=4M",
                      "ALTER TABLE old ENGINE=ROWAN ROW_FORMAT=DYNAMIC"):
        message = t.error(statement, _IGNORED_OPTION, client)
        t.true("_SIZE" in message, message)
        warnings = [row[2] for row in client.query("SHOW WARNINGS")]
        t.true(any("an ALTER can set it to 0" in text for text in warnings), str(warnings))
    client.execute("ALTER TABLE old ENGINE=ROWAN ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE=0")
    for statement, count in (
            ("CREATE TABLE w (id INT PRIMARY KEY, a INT, KEY a (a) KEY_BLOCK_SIZE=4, "
             "KEY b (a) COMMENT 'MERGE_THRESHOLD=40') COMMENT 'MERGE_THRESHOLD=45'", 2),
            ("ALTER TABLE w COMMENT 'MERGE_THRESHOLD=41'", 2), ("TRUNCATE TABLE w", 0),
            ("CREATE TABLE c (id INT PRIMARY KEY) ROW_FORMAT=COMPACT", 1),
            ("CREATE TABLE r (id INT PRIMARY KEY) ROW_FORMAT=REDUNDANT", 1),
            ("CREATE TABLE d (id INT PRIMARY KEY) ROW_FORMAT=DYNAMIC", 0),
            ("CREATE TABLE plain (id INT PRIMARY KEY) COMMENT 'ok' STATS_SAMPLE_PAGES=30", 0)):
        client.execute(statement)
        warnings = [row for row in client.query("SHOW WARNINGS") if row[1] == _IGNORED_OPTION]
        t.equal(len(warnings), count, f"{statement}: {warnings}")


def test_refusals_are_sentences(t):
    if t.engine != "ROWAN":
        t.skip("about our messages")
    client = t.client()
    message = t.error("CREATE TABLE x (a INT) COMPRESSION='zlib'", _IGNORED_OPTION, client)
    t.equal(message.split("does not support ")[1], "the create option 'COMPRESSION'")
    t.error("CREATE TABLE x (a INT) ROW_FORMAT=FIXED", _IGNORED_OPTION, client)
    t.true("as in DYNAMIC" in client.query("SHOW WARNINGS")[0][2], "the sentence is a warning")


def test_a_secondary_engine_can_be_named(t):
    t.run("CREATE TABLE s (id INT PRIMARY KEY, v INT NOT SECONDARY) SECONDARY_ENGINE=gizmo",
          "INSERT INTO s VALUES (1, 10)", "ALTER TABLE s SECONDARY_ENGINE=NULL",
          "ALTER TABLE s SECONDARY_ENGINE=gadget")
    t.true("SECONDARY_ENGINE=gadget" in t.run("SHOW CREATE TABLE s")[0][1], "the definition")
    t.run("ALTER TABLE s SECONDARY_LOAD")
    t.equal(t.run("SHOW WARNINGS")[0][1], _UNKNOWN_ENGINE)
    t.run("UPDATE s SET v = 11")
    t.rows("SELECT * FROM s", [(1, 11)])


def test_buffer_pool_size_shows_whole_pages(t):
    if t.engine != "ROWAN":
        t.skip("about our variables")
    client = t.client()
    client.execute("SET GLOBAL rowan_buffer_pool_size = 10000000")
    t.equal(client.value("SELECT @@rowan_buffer_pool_size"), 10000000 // 16384 * 16384)


def test_wait_durable_takes_numbers_only(t):
    if t.engine != "ROWAN":
        t.skip("about our functions")
    client = t.client()
    t.equal(client.value("SELECT ROWAN_WAIT_DURABLE('4096', '0.5')"), 1)
    t.equal(client.value("SELECT ROWAN_WAIT_DURABLE(4096, 0.5)"), 1)
    for arguments in ("'x', 'y'", "'4096 and more', 1", "4096, 'soon'", "'', 1"):
        t.error(f"SELECT ROWAN_WAIT_DURABLE({arguments})", _WRONG_VALUE, client)


def test_check_table_does_not_warn_of_values_it_computes(t):
    t.run("SET SESSION sql_mode = ''",
          "CREATE TABLE g (id INT PRIMARY KEY, a VARCHAR(10), j JSON, b TINYINT AS (a) VIRTUAL, "
          "d DATE AS (a) VIRTUAL, KEY (b), KEY (d), KEY ((CAST(j->'$[*]' AS UNSIGNED ARRAY))))",
          "INSERT INTO g (id, a, j) VALUES (1, 'xyz', '[1, 2]'), (2, '300', '[3]')")
    for mode in ("", "STRICT_ALL_TABLES"):
        t.run(f"SET SESSION sql_mode = '{mode}'")
        t.equal([row[2:] for row in t.run("CHECK TABLE g EXTENDED")], [("status", "OK")])
        t.equal(t.run("SHOW WARNINGS"), [])


if __name__ == "__main__":
    main(globals())
