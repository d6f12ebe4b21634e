# SPDX-License-Identifier: GPL-2.0-only
"""The load of scripts/cluster over shards: its ledger is spread by the transaction's number, its
accounts by theirs, so that nearly every transaction is one of several shards, which commit
together or not at all (two-phase commit)."""
import json
import time

from ..cluster.load import TABLES, Load, create_tables
from ..paths import UserError
from .cluster import SHARDED

_VINDEXES = {"hash": {"type": "hash"}}
_TABLES = {"ledger": {"column_vindexes": [{"column": "n", "name": "hash"}]},
           "accounts": {"column_vindexes": [{"column": "id", "name": "hash"}]}}
# What VTGate says while a shard has no primary, or a transaction was lost with it.
_TRANSIENT = frozenset({1105, 1203, 1040, 2006, 3024, 1815})
_RESOLVED_LIMIT_S = 180


def prepare(cluster):
    """Fresh tables of the load, on the shards there are."""
    add_to_vschema(cluster, SHARDED, {"sharded": True, "vindexes": _VINDEXES, "tables": _TABLES})
    with cluster.client(SHARDED) as client:
        for table in TABLES:
            client.execute(f"DROP TABLE IF EXISTS {table}")
        create_tables(client, SHARDED)


def add_to_vschema(cluster, keyspace, more):
    """The keyspace's VSchema with `more`: fields, and entries of its tables and vindexes."""
    vschema = json.loads(cluster.control("GetVSchema", keyspace))
    for name, value in more.items():
        if isinstance(value, dict):
            value = {**vschema.get(name, {}), **value}
        vschema[name] = value
    cluster.control("ApplyVSchema", f"--vschema={json.dumps(vschema)}", keyspace)


def new_load(cluster, writers):
    prepare(cluster)
    return Load(cluster.address, writers, database=SHARDED, transient=_TRANSIENT)


def check(cluster, load):
    """Every acknowledged transaction is there, whole, and each replica has its primary's rows.
    Returns how many rows there are. UserError."""
    await_resolved(cluster)
    with cluster.client(SHARDED) as client:
        client.execute("SET workload = 'olap'")
        load.check(client)
        total = sum(client.value(f"SELECT COUNT(*) FROM {table}") for table in TABLES)
    found = sum(compare(cluster, shard) for shard in cluster.shards(SHARDED))
    if found != total:
        raise UserError(f"the shards have {found} rows, VTGate counts {total}")
    return total


def await_resolved(cluster):
    """Until Vitess has ended each transaction that was prepared when its coordinator was lost."""
    deadline = time.monotonic() + _RESOLVED_LIMIT_S
    while True:
        told = cluster.control("DistributedTransaction", "unresolved-list",
                               f"--keyspace={SHARDED}", "--abandon-age=1")
        if not json.loads(told or "null"):
            return
        if time.monotonic() > deadline:
            raise UserError(f"transactions stay unresolved: {told[:500]}")
        time.sleep(1)


def compare(cluster, shard):
    """The rows of a shard's primary are those of its replicas; returns how many. UserError."""
    primary = cluster.primary(SHARDED, shard)
    replicas = [tablet for tablet in cluster.tablets(SHARDED, shard)
                if tablet.alias != primary.alias]
    rows = 0
    with primary.server.client() as one:
        wanted = one.value("SELECT @@global.gtid_executed").replace("\n", "")
        expected = {table: _rows(one, primary, table) for table in TABLES}
    for replica in replicas:
        with replica.server.client() as other:
            if other.value(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{wanted}', 120)") != 0:
                raise UserError(f"{replica.alias} does not catch up")
            for table in TABLES:
                if _rows(other, replica, table) != expected[table]:
                    raise UserError(f"the rows of {table} differ: {primary.alias}, {replica.alias}")
    for table in TABLES:
        rows += len(expected[table])
    return rows


def _rows(client, tablet, table):
    return client.query(f"SELECT * FROM {tablet.database()}.{table} ORDER BY 1, 2")
