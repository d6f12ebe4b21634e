# SPDX-License-Identifier: GPL-2.0-only
"""A replica that applies transactions beside each other and commits them in order."""
import time

from framework import HUNG_S, free_port


def start_pair(t):
    source = t.new_server(["--gtid-mode=ON", "--enforce-gtid-consistency=ON"], binlog=True)
    source.port = free_port()
    replica = t.new_server(["--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--server-id=2",
                            "--replica-parallel-workers=4", "--replica-preserve-commit-order=ON",
                            "--skip-replica-start"], binlog=True)
    for server in (source, replica):
        server.start()
    client = t.client(source)
    client.execute("CREATE USER replica@localhost IDENTIFIED BY ''")
    client.execute("CREATE USER replica@'127.0.0.1' IDENTIFIED BY ''")
    for host in ("localhost", "127.0.0.1"):
        client.execute(f"GRANT REPLICATION SLAVE ON *.* TO replica@'{host}'")
    client.execute("RESET BINARY LOGS AND GTIDS")
    applier = t.client(replica)
    applier.execute(f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', "
                    f"SOURCE_PORT={source.port}, SOURCE_USER='replica', "
                    "SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1")
    return client, applier


def test_a_transaction_that_waits_for_a_later_one_is_let_through(t):
    """The replica has a unique index that the source lacks. There the first transaction waits for
    the second one, which waits for its turn to commit behind the first one: the server has to be
    told, or both wait until the lock times out."""
    source, replica = start_pair(t)
    for client, unique in ((source, ""), (replica, ", UNIQUE (v)")):
        client.execute("SET SESSION sql_log_bin = OFF")
        client.execute(f"CREATE TABLE t (id INT PRIMARY KEY, v INT{unique})")
        client.execute("INSERT INTO t VALUES (9, 90)")
        client.execute("SET SESSION sql_log_bin = ON")
    for statement in ("CREATE TABLE first_of_all (id INT)",
                      "BEGIN", "UPDATE t SET v = 91 WHERE id = 9", "INSERT INTO t VALUES (3, 50)",
                      "DELETE FROM t WHERE id = 3", "INSERT INTO t VALUES (3, 52)", "COMMIT",
                      "INSERT INTO t VALUES (4, 50)"):
        source.execute(statement)
    watch, blocker = t.client(t._servers[1]), t.client(t._servers[1])
    blocker.execute("BEGIN")
    blocker.execute("SELECT * FROM t WHERE id = 9 FOR UPDATE")
    replica.execute("START REPLICA")

    def states():
        return [row[0] for row in watch.query(
            "SELECT IFNULL(state, '') FROM information_schema.processlist")]
    t.wait_for(lambda: any("preceding transaction" in state for state in states()),
               "the second transaction waits for its turn")
    blocker.execute("COMMIT")
    start = time.monotonic()
    rows = [(3, 52), (4, 50), (9, 91)]
    t.wait_for(lambda: watch.query("SELECT id, v FROM t ORDER BY id") == rows,
               "both transactions are applied", limit_s=HUNG_S)
    print(f"applied {time.monotonic() - start:.2f} s after the way was free")
    replica.execute("STOP REPLICA")


def test_events_of_rows_in_indexes_on_expressions(t):
    """Neither kind of row image has the values by which such indexes are sorted."""
    source, replica = start_pair(t)
    watch = t.client(t._servers[1])
    source.execute("CREATE TABLE e (id INT PRIMARY KEY, a INT, b VARCHAR(20), j JSON,"
                   " v INT AS (a * 2) VIRTUAL, KEY (v), KEY ((a + 1)), KEY ((UPPER(b)), a),"
                   " KEY ((CAST(j->'$.n' AS SIGNED ARRAY))))")
    source.execute("CREATE TABLE n (a INT, b INT, KEY ((a + b)))")  # found by all of its columns
    source.execute("SET SESSION sql_log_bin = OFF")
    source.execute("CREATE TABLE c (a INT PRIMARY KEY, b INT, KEY ((a + 1)), KEY ((a + 10)))")
    source.execute("SET SESSION sql_log_bin = ON")
    # The replica's last column stands behind those of the expressions.
    replica.execute("CREATE TABLE c (a INT PRIMARY KEY, KEY ((a + 1)), KEY ((a + 10)))")
    replica.execute("ALTER TABLE c ADD COLUMN b INT")
    replica.execute("START REPLICA")
    for image in ("FULL", "MINIMAL", "NOBLOB"):
        source.execute(f"SET SESSION binlog_row_image = {image}")
        for number in range(4):
            document = f'{{"n": [{number}, {number + 1}]}}'
            source.execute("INSERT INTO e (id, a, b, j) VALUES "
                           f"({number}, {number * 7}, 'b{number}', '{document}')")
            source.execute(f"INSERT INTO c VALUES ({number}, {number * 3})")
            source.execute(f"INSERT INTO n VALUES ({number}, {number * 3})")
        source.execute("UPDATE e SET a = a + 5 WHERE id IN (1, 3)")
        source.execute("UPDATE e SET b = 'x', j = '{\"n\": [9]}' WHERE id = 2")
        source.execute("UPDATE c SET b = 7 WHERE a = 1")
        source.execute("DELETE FROM c WHERE b = 7")
        source.execute("DELETE FROM c")
        source.execute("UPDATE n SET b = 70 WHERE a = 2")
        source.execute("DELETE FROM n")
        source.execute("DELETE FROM e WHERE id < 3")
        source.execute("DELETE FROM e")
    source.execute("INSERT INTO e (id) VALUES (77)")
    t.wait_for(lambda: watch.query("SELECT id FROM e WHERE id = 77") == [(77,)],
               "all is applied")
    for table in ("e", "n", "c"):
        t.equal([row[-1] for row in watch.query(f"CHECK TABLE {table}")], ["OK"], table)
    t.equal(watch.query("SELECT COUNT(*) FROM e FORCE INDEX (v) WHERE v > 0"), [(0,)], "entries")
    replica.execute("STOP REPLICA")
