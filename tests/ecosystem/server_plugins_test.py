# SPDX-License-Identifier: GPL-2.0-only
"""The server's own plugins and components beside Rowan; one that cannot work with it says so."""
from framework import free_port

_COMPONENTS = ("component_connection_control", "component_audit_api_message_emit",
               "component_telemetry", "component_keyring_file", "component_validate_password",
               "component_query_attributes", "component_log_sink_json")
_PLUGINS = (("rewriter", "rewriter.so"), ("ddl_rewriter", "ddl_rewriter.so"))
_GROUP = "8a94f357-aab4-11df-86ab-c80aa9429573"


def _work(t, client, table, engine):
    client.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, v INT) ENGINE={engine}")
    for key in range(10):
        client.execute(f"INSERT INTO {table} VALUES ({key}, 0)")
    client.execute("BEGIN")
    client.execute(f"UPDATE {table} SET v = id")
    client.execute("COMMIT")
    t.equal(int(client.value(f"SELECT SUM(v) FROM {table}")), 45)


def test_components_and_plugins_beside(t, engine):
    """Some cannot be unloaded again: all of them go into one server, which is started again."""
    server = t.new_server()
    server.start()
    client = t.client(server)
    for component in _COMPONENTS:
        client.execute(f"INSTALL COMPONENT 'file://{component}'")
    for name, library in _PLUGINS:
        client.execute(f"INSTALL PLUGIN {name} SONAME '{library}'")
    _work(t, t.client(server), "w", engine)
    server.restart()
    client = t.client(server)
    t.equal(client.value("SELECT COUNT(*) FROM mysql.component"), len(_COMPONENTS))
    t.equal(int(client.value("SELECT SUM(v) FROM w")), 45)
    _work(t, client, "again", engine)


def test_thread_pool(t, engine):
    """Sessions change threads between statements, and in the midst of a transaction."""
    server = t.new_server(options=("--plugin-load-add=thread_pool.so", "--thread-pool-size=2"))
    server.start()
    clients = [t.client(server) for _ in range(20)]
    t.equal(clients[0].value("SELECT plugin_status FROM information_schema.plugins WHERE "
                             "plugin_name = 'thread_pool'"), "ACTIVE")
    clients[0].execute(f"CREATE TABLE pooled (id INT PRIMARY KEY, v INT) ENGINE={engine}")
    for number, client in enumerate(clients):
        client.execute("BEGIN")
        client.execute(f"INSERT INTO pooled VALUES ({number}, 0)")
    for number, client in enumerate(clients):
        client.execute(f"UPDATE pooled SET v = 1 WHERE id = {number}")
    for number, client in enumerate(clients):
        client.execute("COMMIT" if number % 2 else "ROLLBACK")
    t.equal(clients[0].query("SELECT COUNT(*), MIN(id), MAX(v) FROM pooled"), [(10, 1, 1)])


def test_semisynchronous_replication(t, engine):
    """The source waits for the replica's answer to each commit."""
    port = free_port()
    source = t.new_server(binlog=True, options=(
        "--gtid-mode=ON", "--enforce-gtid-consistency=ON",
        "--plugin-load-add=semisync_source.so", "--loose-rpl-semi-sync-source-enabled=ON",
        "--loose-rpl-semi-sync-source-timeout=600000"))
    source.port = port
    replica = t.new_server(binlog=True, options=(
        "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--server-id=2",
        "--plugin-load-add=semisync_replica.so", "--loose-rpl-semi-sync-replica-enabled=ON"))
    source.start(("--loose-rpl-semi-sync-source-enabled=OFF",))
    first = source.client()
    first.execute("CREATE USER r@'%' IDENTIFIED BY 'r'")
    first.execute("GRANT REPLICATION SLAVE ON *.* TO r@'%'")
    replica.start()
    second = replica.client()
    second.execute(f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, "
                   "SOURCE_USER='r', SOURCE_PASSWORD='r', SOURCE_AUTO_POSITION=1, "
                   "GET_SOURCE_PUBLIC_KEY=1")
    second.execute("START REPLICA")
    first.execute("SET GLOBAL rpl_semi_sync_source_enabled = ON")

    def status(name):
        return first.query(f"SHOW STATUS LIKE 'Rpl_semi_sync_source_{name}'")[0][1]
    t.wait_for(lambda: status("clients") == "1", "the replica is there")
    first.execute("CREATE DATABASE s")
    first.execute("USE s")
    _work(t, first, "w", engine)
    t.true(int(status("yes_tx")) >= 11 and status("no_tx") == "0", status("yes_tx"))
    executed = first.value("SELECT @@gtid_executed")
    t.equal(second.value(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}', 60)"), 0)
    t.equal(int(second.value("SELECT SUM(v) FROM s.w")), 45)


def test_group_replication_refuses_writes(t, engine):
    """It takes InnoDB's tables alone: a write to another one fails, and the group goes on."""
    port = free_port()
    server = t.new_server(binlog=True, options=(
        "--gtid-mode=ON", "--enforce-gtid-consistency=ON",
        "--plugin-load-add=group_replication.so", f"--loose-group-replication-group-name={_GROUP}",
        f"--loose-group-replication-local-address=127.0.0.1:{port}",
        f"--loose-group-replication-group-seeds=127.0.0.1:{port}",
        "--loose-group-replication-start-on-boot=OFF",
        "--loose-group-replication-bootstrap-group=ON"))
    server.port = free_port()
    server.start()
    client = server.client()
    client.execute("START GROUP_REPLICATION")
    t.wait_for(lambda: client.value("SELECT member_state FROM performance_schema."
                                    "replication_group_members") == "ONLINE", "the group")
    client.execute("CREATE DATABASE g")
    client.execute("USE g")
    client.execute(f"CREATE TABLE w (id INT PRIMARY KEY) ENGINE={engine}")
    if engine == "InnoDB":
        client.execute("INSERT INTO w VALUES (1)")
    else:
        said = t.error("INSERT INTO w VALUES (1)", 3098, client)
        t.true("does not comply with the requirements by an external plugin" in said, said)
        t.true("Table w does not use the InnoDB storage engine" in server.messages(), "the log")
    t.equal(client.value("SELECT COUNT(*) FROM w"), int(engine == "InnoDB"))
    client.execute("STOP GROUP_REPLICATION")
