# SPDX-License-Identifier: GPL-2.0-only
"""Percona's tools and mysqltuner, each on both engines."""
import pytest

from changed_online import ROWS, Writers, check_altered, fill
from framework import free_port
from tools import Tools, dsn

pytestmark = pytest.mark.server(options=("--performance-schema=ON",), binlog=True)


def test_online_schema_change_under_load(t, engine):
    tools = Tools(t.server)
    fill(t, engine)
    with Writers(t, "items") as writers:
        t.wait_for(lambda: writers.count > 10, "writes")
        tools.run("pt-online-schema-change", "--execute", "--chunk-size=200",
                  "--alter=ADD COLUMN extra INT NOT NULL DEFAULT 5, DROP KEY k",
                  dsn(t.server, D=t.database, t="items"))
        count = writers.count
        t.wait_for(lambda: writers.count > count + 10, "writes afterwards")
    check_altered(t, writers, engine)
    t.rows("SHOW TRIGGERS", [])


def test_archiver_moves_rows(t, engine):
    tools = Tools(t.server)
    fill(t, engine)
    t.run("CREATE TABLE archive LIKE items")
    # Otherwise it leaves the row with the highest number, for fear that it is given out again.
    tools.run("pt-archiver", "--source", dsn(t.server, D=t.database, t="items"), "--dest",
              dsn(t.server, D=t.database, t="archive"), "--where=k < 10", "--limit=50",
              "--txn-size=50", "--bulk-delete", "--no-safe-auto-increment")
    t.rows("SELECT COUNT(*), MIN(k), MAX(k) FROM items", [(ROWS * 9 // 10, 10, 99)])
    t.rows("SELECT COUNT(*), MIN(k), MAX(k) FROM archive", [(ROWS // 10, 0, 9)])


def _replica_pair(t, engine):
    source_port, replica_port = free_port(), free_port()
    servers = []
    for port, number in ((source_port, 1), (replica_port, 2)):
        server = t.new_server(binlog=True, options=(
            "--gtid-mode=ON", "--enforce-gtid-consistency=ON", f"--server-id={number}",
            "--report-host=127.0.0.1", f"--report-port={port}", "--performance-schema=ON"))
        server.port = port
        server.start()
        servers.append(server)
    source, replica = (t.client(server, database="") for server in servers)
    replica.execute("CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_USER='root', "
                    f"SOURCE_PORT={source_port}, SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1")
    replica.execute("START REPLICA")
    source.execute("CREATE USER root@'127.0.0.1'")
    source.execute("GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION")
    source.execute("CREATE DATABASE shop")
    source.execute("USE shop")
    return servers, source, replica


def _caught_up(t, source, replica):
    executed = source.value("SELECT @@gtid_executed")
    t.equal(replica.value(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}', 60)"), 0, "applied")


def test_checksum_and_sync_over_a_replica(t, engine):
    """A row that is wrong on the replica is found, and put right through the source."""
    tools = Tools(t.server)
    servers, source, replica = _replica_pair(t, engine)
    fill(t, engine, client=source)
    source.execute("CREATE TABLE percona_dsns (id INT PRIMARY KEY, parent_id INT, "
                   "dsn VARCHAR(250))")
    source.execute(f"INSERT INTO percona_dsns VALUES (1, NULL, 'S={servers[1].socket},u=root')")
    _caught_up(t, source, replica)
    replica.execute("SET SESSION sql_log_bin = OFF")
    replica.execute("UPDATE shop.items SET v = 'wrong' WHERE id = 77")
    replica.execute("DELETE FROM shop.items WHERE id = 78")
    check = ["pt-table-checksum", "--databases=shop", "--tables=items", "--no-check-binlog-format",
             f"--recursion-method=dsn={dsn(servers[0], D='shop', t='percona_dsns')}",
             dsn(servers[0])]
    said = tools.run(*check, status=16)  # 16: there are differences
    t.true("shop.items" in said, said)
    t.true(int(replica.value("SELECT COUNT(*) FROM percona.checksums WHERE this_crc <> "
                             "source_crc OR this_cnt <> source_cnt")) > 0, "differences")
    tools.run("pt-table-sync", "--execute", "--replicate=percona.checksums", "--sync-to-source",
              f"h=127.0.0.1,P={servers[1].port},u=root", status=2)  # 2: it changed rows
    _caught_up(t, source, replica)
    t.equal(replica.query("SELECT v FROM shop.items WHERE id IN (77, 78) ORDER BY id"),
            [("row 77",), ("row 78",)])
    tools.run(*check)


def test_deadlock_logger(t, engine):
    """It reads SHOW ENGINE INNODB STATUS: Rowan's deadlocks are in SHOW ENGINE ROWAN STATUS."""
    tools = Tools(t.server)
    t.run("DROP TABLE IF EXISTS deadlocks")
    fill(t, engine)
    first, second = t.client(), t.client()
    for client, key in ((first, 1), (second, 2)):
        client.execute("BEGIN")
        client.execute(f"UPDATE items SET v = 'x' WHERE id = {key}")
    first.send("UPDATE items SET v = 'y' WHERE id = 2")
    failed = second.error_code("UPDATE items SET v = 'y' WHERE id = 1")
    if failed == 0:
        t.error("COMMIT", 1213, first)
    else:
        first.receive()
        t.equal(failed, 1213)
    tools.run("pt-deadlock-logger", "--iterations=1", "--create-dest-table", "--dest",
              dsn(t.server, D=t.database, t="deadlocks"), dsn(t.server))
    seen = [row[0] for row in t.run("SELECT DISTINCT tbl FROM deadlocks WHERE db = DATABASE()")]
    t.equal(seen, ["items"] if engine == "InnoDB" else [])
    if engine == "ROWAN":
        report = t.run("SHOW ENGINE ROWAN STATUS")[0][2]
        t.true("deadlock" in report.lower() and "items" in report, report)


def test_mysqltuner(t, engine):
    tools = Tools(t.server)
    fill(t, engine)
    said = tools.run("mysqltuner", "--socket", t.server.socket, "--user=root", "--nocolor",
                     "--noask", "--forcemem=1024")
    t.true("Terminated successfully" in said, said[-500:])
    t.true("Data in InnoDB tables" in said if engine == "InnoDB" else "ROWAN" in said.upper(), said)
