# SPDX-License-Identifier: GPL-2.0-only
"""The tables ROWAN_* of INFORMATION_SCHEMA: they come and go with the engine."""

_UNKNOWN_TABLE = 1109
_TABLES = ("ROWAN_BUFFER_POOL", "ROWAN_INDEXES", "ROWAN_LOCKS", "ROWAN_LOCK_WAITS",
           "ROWAN_METRICS", "ROWAN_SYNC_LATENCY", "ROWAN_TABLES", "ROWAN_TRX")


def _installed(client):
    return [row[0] for row in client.query(
        "SELECT plugin_name FROM information_schema.plugins WHERE plugin_name LIKE 'ROWAN\\_%' "
        "AND plugin_status = 'ACTIVE' AND plugin_type = 'INFORMATION SCHEMA' ORDER BY 1")]


def _remembered(client):
    return [row[0].upper() for row in client.query(
        "SELECT name FROM mysql.plugin WHERE name LIKE 'ROWAN%' ORDER BY 1")]


def _check_present(t, client):
    t.equal(_installed(client), list(_TABLES))
    for table in _TABLES:
        client.query(f"SELECT * FROM information_schema.{table}")
    t.equal([row[0] for row in client.query(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = "
        "'information_schema' AND table_name LIKE 'ROWAN%' ORDER BY 1")], list(_TABLES))


def _check_start_is_quiet(t, server):
    complaints = [line for line in server.messages().splitlines()
                  if "rowan" in line.lower() and "unknown variable" not in line
                  and ("[Warning]" in line or "[ERROR]" in line)]
    t.equal(complaints, [])


def test_they_come_and_go_with_the_engine(t):
    if t.engine != "ROWAN":
        t.skip("about our plugin")
    server = t.new_server(binlog=True)
    server.start()
    client = server.client()
    _check_present(t, client)
    t.equal(_remembered(client), ["ROWAN", *_TABLES])
    t.equal(client.query("SHOW BINLOG EVENTS LIMIT 3, 10"), [])
    t.uninstall(client)
    t.equal(_installed(client), [])
    t.equal(_remembered(client), [])
    t.error("SELECT * FROM information_schema.rowan_trx", _UNKNOWN_TABLE, client)
    client.execute("FLUSH TABLES WITH READ LOCK")  # the server's caches are empty
    client.execute("UNLOCK TABLES")
    client.execute("INSTALL PLUGIN rowan SONAME 'ha_rowan.so'")
    _check_present(t, client)
    # A library with more of them than the one that was installed: a start adds what is new.
    client.execute("UNINSTALL PLUGIN rowan_locks")
    server.restart()
    _check_start_is_quiet(t, server)
    client = server.client()
    _check_present(t, client)
    t.equal(_remembered(client), ["ROWAN", *_TABLES])
    # One that is being read keeps the engine.
    reader = server.client()
    reader.execute("BEGIN")
    reader.query("SELECT * FROM information_schema.rowan_trx")
    t.uninstall(client)
    t.equal(_installed(client), [])
    t.error("SELECT * FROM information_schema.rowan_trx", _UNKNOWN_TABLE, reader)
    # What an option loads is not remembered.
    server.install_plugin = False
    for option, tables in (("ha_rowan.so", list(_TABLES)), ("rowan=ha_rowan.so", [])):
        server.restart((f"--plugin-load-add={option}",))
        _check_start_is_quiet(t, server)
        client = server.client()
        t.equal(_installed(client), tables)
        t.equal(_remembered(client), [])


def _sizes(t, client):
    return client.query(
        "SELECT table_name, partition_name, index_name, index_type, height, leaf_pages, entries, "
        "size_bytes = (leaf_pages + inner_pages) * @@rowan_page_size "
        "FROM information_schema.rowan_indexes WHERE table_schema = "
        f"'{t.database}' ORDER BY table_id, index_id")


def test_where_inserts_go_is_told_by_index(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's tables")
    t.run("CREATE TABLE p (id INT PRIMARY KEY, down INT, mixed INT, KEY (down), KEY (mixed))",
          "INSERT INTO p WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
          "WHERE i < 1000) SELECT i, -i, CRC32(i) % 100000 FROM n")
    columns = [f"inserts_{place}" for place in ("ascending", "descending", "left", "right",
                                                "elsewhere", "unknown")]
    rows = t.run(f"SELECT index_name, {', '.join(columns)} FROM information_schema.rowan_indexes "
                 f"WHERE table_schema = '{t.database}' ORDER BY index_id")
    t.true(all(sum(row[1:]) == 1000 for row in rows), rows)
    primary, down, mixed = rows
    t.true(primary[1] > 900, primary)
    t.true(down[2] > 900, down)
    t.true(mixed[5] > 800 and mixed[6] > 0, mixed)


def test_tables_and_indexes_are_known_before_they_are_opened(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's tables")
    t.run("CREATE TABLE `a-b` (id INT PRIMARY KEY, k INT, u INT UNIQUE, KEY k (k))",
          "CREATE TABLE parts (id INT PRIMARY KEY) PARTITION BY RANGE (id) "
          "(PARTITION low VALUES LESS THAN (10), PARTITION high VALUES LESS THAN MAXVALUE)",
          "INSERT INTO `a-b` WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
          "WHERE i < 1000) SELECT i, i % 10, i FROM n", "ANALYZE TABLE `a-b`",
          "INSERT INTO parts VALUES (1), (2), (3)", "ANALYZE TABLE parts")
    client = t.client()
    before = _sizes(t, client)
    t.equal([row[:4] for row in before],
            [("a-b", None, "PRIMARY", "CLUSTERED"), ("a-b", None, "u", "UNIQUE"),
             ("a-b", None, "k", "SECONDARY"), ("parts", "low", "PRIMARY", "CLUSTERED"),
             ("parts", "high", "PRIMARY", "CLUSTERED")])
    t.equal([row[6] for row in before], [1000, 1000, 1000, 3, 0])
    t.true(all(row[4] >= 1 and row[5] >= 1 and row[7] for row in before), before)
    t.server.restart()
    client = t.client()
    t.equal(_sizes(t, client), before)
    tables = ("SELECT table_name, partition_name, is_open, indexes, table_rows, file_pages > 0, "
              "auto_increment FROM information_schema.rowan_tables "
              f"WHERE table_schema = '{t.database}' ORDER BY table_id")
    t.equal(client.query(tables), [("a-b", None, "NO", 3, 1000, 1, None),
                                   ("parts", "low", "NO", 1, 3, 1, None),
                                   ("parts", "high", "NO", 1, 0, 1, None)])
    client.execute("DELETE FROM `a-b` WHERE id = 1")
    t.true(client.value("SELECT pages > 0 AND dirty_pages <= pages AND file_pages > 0 FROM "
                        "information_schema.rowan_buffer_pool WHERE table_name = 'a-b'") == 1,
           "pages of the table are in the pool")
    t.equal([row[0] for row in client.query(
        "SELECT space_type FROM information_schema.rowan_buffer_pool WHERE table_name IS NULL "
        "AND space_type <> 'TEMPORARY' ORDER BY 1")], ["SYSTEM", "UNDO"])
    t.equal(client.value("SELECT COUNT(*) FROM information_schema.rowan_metrics WHERE name IN "
                         "('rows_deleted', 'log_capacity') AND count > 0 AND comment <> ''"), 2)
    t.equal(client.query(tables)[0], ("a-b", None, "YES", 3, 999, 1, 1))


def test_an_installation_that_is_held_up_ends(t):
    """Somebody who asks for a global lock meanwhile waits for the statement, not the other way."""
    if t.engine != "ROWAN":
        t.skip("about our plugin")
    client, other = t.server.client(), t.server.client()
    t.uninstall(client)

    def lock():
        other.execute("FLUSH TABLES WITH READ LOCK")
        other.execute("UNLOCK TABLES")

    t.threads([lambda: client.execute("INSTALL PLUGIN rowan SONAME 'ha_rowan.so'"), lock])
    t.equal(client.value("SELECT COUNT(*) FROM information_schema.engines "
                         "WHERE engine = 'ROWAN'"), 1)
    # Nobody is left behind, whichever of them were refused.
    t.uninstall(client)
    t.equal(_remembered(client), [])
    client.execute("INSTALL PLUGIN rowan SONAME 'ha_rowan.so'")
    _check_present(t, client)
