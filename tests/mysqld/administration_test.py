# SPDX-License-Identifier: GPL-2.0-only
"""What an administrator meets: a missing data folder, CLONE, options and variables that say what is
in force."""
import shutil


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


def _ignored(client):
    """What the last statement's warnings name as ignored."""
    return [row[2].removeprefix("Rowan ignores ") for row in client.query("SHOW WARNINGS")
            if row[1] == _IGNORED_OPTION]


def test_hints_of_innodb_tables_are_ignored_with_a_warning(t):
    if t.engine != "ROWAN":
        t.skip("InnoDB has these options")
    client = t.client()
    for option, ignored in (
            ("KEY_BLOCK_SIZE=8", ["KEY_BLOCK_SIZE"]),
            ("ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4", ["ROW_FORMAT", "KEY_BLOCK_SIZE"]),
            ("ROW_FORMAT=COMPACT", ["ROW_FORMAT"]), ("ROW_FORMAT=REDUNDANT", ["ROW_FORMAT"]),
            ("COMPRESSION='zlib'", ["COMPRESSION"]), ("AUTOEXTEND_SIZE=4M", ["AUTOEXTEND_SIZE"]),
            ("ROW_FORMAT=DYNAMIC ENCRYPTION='N' COMPRESSION='none'", []),
            ("TABLESPACE=innodb_file_per_table", []), ("COMMENT 'ok' STATS_SAMPLE_PAGES=30", [])):
        names = [f"the {name} of the table" for name in ignored]
        client.execute("CREATE TABLE h (id INT PRIMARY KEY, k INT, KEY (k) KEY_BLOCK_SIZE=2) "
                       + option)
        t.equal(_ignored(client), names, f"CREATE with {option}")
        client.execute("TRUNCATE TABLE h")
        t.equal(_ignored(client), [], f"TRUNCATE with {option}")
        client.execute("CREATE TABLE j LIKE h")
        definition = client.query("SHOW CREATE TABLE h")[0][1]
        client.execute("DROP TABLE h, j")
        client.execute(definition)  # what a dump has of it
        client.execute("ALTER TABLE h ADD COLUMN v INT, ALGORITHM=INSTANT")
        client.execute(f"CREATE TABLE i (id INT PRIMARY KEY) ENGINE=InnoDB {option}")
        client.execute("ALTER TABLE i ENGINE=ROWAN")
        t.equal(client.query("SELECT engine FROM information_schema.tables"
                             " WHERE table_schema = DATABASE()"), [("ROWAN",), ("ROWAN",)])
        client.execute("DROP TABLE h, i")


def test_merge_thresholds_are_ignored_with_a_warning(t):
    if t.engine != "ROWAN":
        t.skip("InnoDB has them")
    client = t.client()
    both = [f"MERGE_THRESHOLD in the comment of {place}" for place in ("the table", "index 'b'")]
    for statement, ignored in (
            ("CREATE TABLE w (id INT PRIMARY KEY, a INT, KEY b (a) COMMENT 'MERGE_THRESHOLD=40')"
             " COMMENT 'MERGE_THRESHOLD=45'", both),
            ("ALTER TABLE w COMMENT 'MERGE_THRESHOLD=41'", both),
            ("TRUNCATE TABLE w", [])):
        client.execute(statement)
        t.equal(_ignored(client), ignored, statement)


def test_options_without_sense_are_refused_as_innodb_does(t):
    client = t.client()
    for option in ("ROW_FORMAT=FIXED", "COMPRESSION='gizmo'"):
        client.execute("SET innodb_strict_mode = ON")
        t.error(f"CREATE TABLE s (id INT PRIMARY KEY) {option}", (_IGNORED_OPTION, 1031), client)
        client.execute("CREATE TABLE s (id INT PRIMARY KEY)")
        t.error(f"ALTER TABLE s {option}", (_IGNORED_OPTION, 1031), client)
        client.execute("DROP TABLE s")
        client.execute("SET innodb_strict_mode = OFF")
        client.execute(f"CREATE TABLE s (id INT PRIMARY KEY) {option}")
        t.true(client.query("SHOW WARNINGS"), f"no warning of {option}")
        client.execute("SET innodb_strict_mode = ON")
        client.execute("ALTER TABLE s ADD COLUMN v INT")
        client.execute("DROP TABLE s")


def test_refusals_are_sentences(t):
    if t.engine != "ROWAN":
        t.skip("about our messages")
    client = t.client()
    message = t.error("CREATE TABLE x (a INT) INDEX DIRECTORY='/tmp'", _IGNORED_OPTION, client)
    t.equal(message.split("does not support ")[1], "the create option 'INDEX DIRECTORY'")
    t.error("CREATE TABLE x (a INT) ROW_FORMAT=FIXED", _IGNORED_OPTION, client)
    t.true("as in DYNAMIC" in client.query("SHOW WARNINGS")[0][2], "the sentence is a warning")
    for what in ("MUTEX", "LOGS"):
        t.equal(client.query(f"SHOW ENGINE ROWAN {what}"), [])
        t.true("SHOW ENGINE ROWAN STATUS" in client.query("SHOW WARNINGS")[0][2], what)


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
