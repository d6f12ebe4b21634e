# SPDX-License-Identifier: GPL-2.0-only
"""Vitess over shards of Rowan, and of InnoDB: what an application and an operator do with it.
docs/scale-out.md tells what works."""
import pytest

from changed_online import Writers
from rowantools.progress import Step
from rowantools.vitess import load as loads
from rowantools.vitess import reshard
from rowantools.vitess.cluster import PLAIN, SHARDED, VitessCluster
from rowantools.vitess.failover import rejoin, replace_primary
from rowantools.vitess.programs import etcd, vitess
from tools import or_skip

_HASH = [{"column": "id", "name": "hash"}]
_WRITERS, _ROWS = 4, 3000


@pytest.fixture(scope="module", params=["rowan", "innodb"])
def cluster(request, tmp_path_factory):
    or_skip(vitess)
    or_skip(etcd)
    made = VitessCluster(tmp_path_factory.mktemp("vitess"))
    made.create(request.param, replicas=2)
    try:
        with Step("starting Vitess", quiet=True) as step:
            made.start(step)
        loads.add_to_vschema(made, SHARDED, {"sharded": True, "foreign_key_mode": "managed",
                                             "vindexes": {"hash": {"type": "hash"}}})
        yield made
    finally:
        made.kill()


def _tables(cluster, names, more=None):
    loads.add_to_vschema(cluster, SHARDED, {"tables": {
        name: {"column_vindexes": _HASH, **(more or {})} for name in names}})


def _check_engine(t, cluster, table):
    """Each shard has it in the engine of the cluster, and whole; it has rows on more than one."""
    counts = []
    for shard in cluster.shards(SHARDED):
        primary = cluster.primary(SHARDED, shard)
        with primary.server.client() as client:
            name = f"{primary.database()}.{table}"
            t.equal(client.value("SELECT LOWER(engine) FROM information_schema.tables WHERE "
                                 f"CONCAT(table_schema, '.', table_name) = '{name}'"),
                    cluster.state["engine"])
            t.check_table(name, client)
            counts.append(client.value(f"SELECT COUNT(*) FROM {name}"))
    t.true(sum(count > 0 for count in counts) > 1, f"rows of {table}: {counts}")


def test_sharded_rows_sequences_and_transactions(t, cluster):
    with cluster.client(PLAIN) as client:
        client.execute("CREATE TABLE orders_seq (id BIGINT PRIMARY KEY, next_id BIGINT, "
                       "cache BIGINT) COMMENT 'vitess_sequence'")
        client.execute("INSERT INTO orders_seq (id, next_id, cache) VALUES (0, 1, 10)")
    loads.add_to_vschema(cluster, PLAIN, {"tables": {"orders_seq": {"type": "sequence"}}})
    _tables(cluster, ["orders"], {"auto_increment": {"column": "id", "sequence": "orders_seq"}})
    with cluster.client(SHARDED) as client, cluster.client(SHARDED) as other:
        client.execute("CREATE TABLE orders (id BIGINT PRIMARY KEY, customer INT, total INT, "
                       "KEY (customer))")
        for n in range(25):
            client.execute(f"INSERT INTO orders (customer, total) VALUES ({n % 3}, {n})")
        t.equal(client.query("SELECT COUNT(*), MIN(id), MAX(id) FROM orders"), [(25, 1, 25)])
        t.equal(client.query("SELECT customer, COUNT(*) FROM orders GROUP BY customer ORDER BY 1"),
                [(0, 9), (1, 8), (2, 8)])
        client.execute("BEGIN")
        client.execute("UPDATE orders SET total = total + 100")
        t.equal(other.value("SELECT COUNT(*) FROM orders WHERE total >= 100"), 0)
        client.execute("COMMIT")  # of both shards
        t.equal(other.value("SELECT COUNT(*) FROM orders WHERE total >= 100"), 25)
        client.execute("BEGIN")
        client.execute("DELETE FROM orders WHERE id > 0")
        client.execute("ROLLBACK")
        t.equal(client.value("SELECT COUNT(*) FROM orders"), 25)
        t.equal(client.error_code("INSERT INTO orders (id, customer) VALUES (7, 1)"), 1062)
        t.equal(client.query("SELECT a.id FROM orders a JOIN orders b ON a.customer = b.id "
                             "WHERE b.id = 2 ORDER BY a.id LIMIT 2"), [(3,), (6,)])
    _check_engine(t, cluster, "orders")


def test_foreign_keys_within_a_shard(t, cluster):
    _tables(cluster, ["parents", "children"])
    with cluster.client(SHARDED) as client:
        client.execute("CREATE TABLE parents (id BIGINT PRIMARY KEY, name VARCHAR(20))")
        client.execute("CREATE TABLE children (id BIGINT, n INT, PRIMARY KEY (id, n), "
                       "FOREIGN KEY (id) REFERENCES parents (id) ON DELETE CASCADE)")
        for n in range(20):
            client.execute(f"INSERT INTO parents (id, name) VALUES ({n}, 'p{n}')")
            client.execute(f"INSERT INTO children (id, n) VALUES ({n}, 1), ({n}, 2)")
        t.equal(client.error_code("INSERT INTO children (id, n) VALUES (99, 1)"), 1452)
        client.execute("DELETE FROM parents WHERE id < 5")
        t.equal(client.value("SELECT COUNT(*) FROM children"), 30)
        _check_engine(t, cluster, "children")
        # Reshard makes tables in the order of their names, and so a child before its parent.
        client.execute("DROP TABLE children")
        client.execute("DROP TABLE parents")


def test_full_text_search_and_partitions(t, cluster):
    _tables(cluster, ["notes"])
    _tables(cluster, ["readings"])
    with cluster.client(SHARDED) as client:
        client.execute("CREATE TABLE notes (id BIGINT PRIMARY KEY, body TEXT, FULLTEXT (body))")
        client.execute("CREATE TABLE readings (id BIGINT, day INT, PRIMARY KEY (id, day)) "
                       "PARTITION BY RANGE (day) (PARTITION a VALUES LESS THAN (10), "
                       "PARTITION b VALUES LESS THAN MAXVALUE)")
        for n in range(20):
            color = "red" if n % 2 else "blue"
            client.execute(f"INSERT INTO notes (id, body) VALUES ({n}, 'a {color} number{n}')")
            client.execute(f"INSERT INTO readings (id, day) VALUES ({n}, {n})")
        found = client.query("SELECT id FROM notes WHERE MATCH (body) AGAINST ('red') ORDER BY id")
        t.equal(found, [(n,) for n in range(1, 20, 2)])
        found = client.query("SELECT id FROM notes WHERE MATCH (body) AGAINST "
                             "('+red -number3' IN BOOLEAN MODE) ORDER BY id")
        t.equal(found, [(n,) for n in range(1, 20, 2) if n != 3])
        client.execute("ALTER TABLE readings DROP PARTITION a")
        t.equal(client.value("SELECT COUNT(*) FROM readings"), 10)
    for table in ("notes", "readings"):
        _check_engine(t, cluster, table)


class _Sessions:
    """Where Writers gets its session from."""

    def __init__(self, cluster, keyspace):
        self.client = lambda: cluster.client(keyspace)


def _items(cluster, name, keyspace=SHARDED):
    with cluster.client(keyspace) as client:
        client.execute(f"CREATE TABLE {name} (id BIGINT PRIMARY KEY, k INT, v VARCHAR(40), "
                       "KEY (k))")
        client.execute(f"INSERT INTO {name} (id, k, v) VALUES "
                       + ", ".join(f"({n}, {n % 100}, 'row {n}')" for n in range(1, _ROWS + 1)))


def _migrated(t, client, uuid):
    """Waits for the end of a migration on all shards. Returns whether it was instant."""
    def rows():
        result = client.execute(f"SHOW VITESS_MIGRATIONS LIKE '{uuid}'")
        return [dict(zip(result.columns, row)) for row in result.rows]
    t.wait_for(lambda: rows() and all(row["migration_status"] in ("complete", "failed", "cancelled")
                                      for row in rows()), "the migration", 180)
    t.equal([(row["migration_status"], row["message"]) for row in rows()
             if row["migration_status"] != "complete"], [])
    return {row["is_immediate_operation"] for row in rows()} == {1}


def _check_items(t, client, name, writers):
    t.equal(client.value(f"SELECT COUNT(*) FROM {name} WHERE id < 1000000"), _ROWS)
    client.execute("SET workload = 'olap'")
    t.equal(dict(client.query(f"SELECT id, v FROM {name} WHERE id >= 1000000")), writers.left)


def _check_extra(t, client, name):
    """The new column's values; VTGate hears of a column a moment after it is there."""
    t.wait_for(lambda: not client.error_code(f"SELECT extra FROM {name} LIMIT 1"), "the column")
    t.equal(client.query(f"SELECT MIN(extra), MAX(extra) FROM {name}"), [(5, 5)])


def test_online_ddl_under_load(t, cluster):
    _tables(cluster, ["items"])
    _items(cluster, "items")
    sessions = _Sessions(cluster, SHARDED)
    with cluster.client(SHARDED) as client, Writers(sessions, "items") as writers:
        client.execute("SET @@ddl_strategy = 'vitess'")
        uuid = client.value("ALTER TABLE items ADD COLUMN extra INT NOT NULL DEFAULT 5, "
                            "DROP KEY k, MODIFY v VARCHAR(60)")
        _migrated(t, client, uuid)
        count = writers.count
        t.wait_for(lambda: writers.count > count + 10, "writes afterwards")
    with cluster.client(SHARDED) as client:
        _check_items(t, client, "items", writers)
        _check_extra(t, client, "items")
    _check_engine(t, cluster, "items")


def test_instant_ddl(t, cluster):
    _tables(cluster, ["quick"])
    _items(cluster, "quick")
    with cluster.client(SHARDED) as client:
        client.execute("SET @@ddl_strategy = 'vitess --prefer-instant-ddl'")
        uuid = client.value("ALTER TABLE quick ADD COLUMN extra INT NOT NULL DEFAULT 5")
        t.true(_migrated(t, client, uuid), "by ALGORITHM=INSTANT")
        _check_extra(t, client, "quick")
    _check_engine(t, cluster, "quick")


def test_tables_move_to_shards_under_load(t, cluster):
    _items(cluster, "moved", PLAIN)
    _tables(cluster, ["moved"])
    flags = ("MoveTables", f"--target-keyspace={SHARDED}", "--workflow=move")
    with Writers(_Sessions(cluster, PLAIN), "moved") as writers:
        cluster.control(*flags, "create", f"--source-keyspace={PLAIN}", "--tables=moved")
        t.wait_for(lambda: set(reshard.states(cluster, SHARDED, "move")) == {"Running"}, "the copy")
        compared = reshard.vdiff(cluster, SHARDED, "move")
        t.true(compared[0][0] == "moved" and compared[0][1] >= _ROWS, f"{compared}")
        cluster.control(*flags, "switchtraffic")
        count = writers.count
        t.wait_for(lambda: writers.count > count + 10, "writes afterwards")
    cluster.control(*flags, "complete")
    with cluster.client(SHARDED) as client:
        _check_items(t, client, "moved", writers)
    _check_engine(t, cluster, "moved")


def test_failover_and_reshard_under_load(t, cluster):
    load = loads.new_load(cluster, _WRITERS)
    with load:
        for planned in (True, False):
            _go_on(t, load)
            old, new = replace_primary(cluster, "-80", planned)
            t.true(old.alias != new.alias, "another primary")
            if not planned:
                _write_alone(old)
                t.true(rejoin(cluster, old) != "", "it is built anew, under load")
        _go_on(t, load)
        with Step("splitting", quiet=True) as step:
            compared = dict(reshard.split(cluster, 1, step))
        t.true(compared["ledger"] > 0 and compared["accounts"] == 1000, f"{compared}")
        _go_on(t, load)
    t.equal(len(cluster.shards(SHARDED)), 4)
    loads.check(cluster, load)
    for table in ("ledger", "accounts", "orders"):
        _check_engine(t, cluster, table)


def _write_alone(tablet):
    """The server of a killed tablet gets a transaction that no other has."""
    tablet.server.start()
    with tablet.server.client() as client:
        client.execute("SET GLOBAL super_read_only = OFF")
        client.execute("CREATE DATABASE only_here")
    tablet.server.stop()


def _go_on(t, load):
    count = load.acknowledged
    t.wait_for(lambda: load.failure() or load.acknowledged > count + 50, "transactions")
    t.equal(load.failure(), None)
