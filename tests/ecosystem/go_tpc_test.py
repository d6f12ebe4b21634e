# SPDX-License-Identifier: GPL-2.0-only
"""go-tpc. TPC-C: it checks the conditions of consistency after loading, after a run, and after a
kill of the server. TPC-H: what it loads, and its 22 queries, beside InnoDB."""
import re

import pytest

from framework import free_port
from go_tpc import GoTpc

_SESSIONS, _TRANSACTIONS = 4, 600
_KINDS = {"DELIVERY", "NEW_ORDER", "ORDER_STATUS", "PAYMENT", "STOCK_LEVEL"}
_TPCC_TABLES = 9
_TPCH_TABLES = ("nation", "region", "part", "supplier", "partsupp", "customer", "orders",
                "lineitem")
_QUERIES = {f"q{number}" for number in range(1, 23)}
# No order of so few is as large as it asks for.
_WITHOUT_ROWS = {"q18"}
_LIMIT_S = 1800


@pytest.fixture
def tpc(t):
    """go-tpc, and a server that knows its user."""
    tool, server = GoTpc("tpc"), t.new_server(buffer_pool="512M")
    server.port = free_port()
    server.start()
    with t.client(server) as client:
        client.execute("CREATE USER tpc")
        client.execute("GRANT ALL ON *.* TO tpc")
    return tool, server


def _default_engine(t, server, engine):
    with t.client(server) as client:
        client.execute(f"SET GLOBAL default_storage_engine = {engine}")


def _check_tables(t, server, database, engine, count):
    """They are whole, and the engine's."""
    with t.client(server, timeout_s=_LIMIT_S) as client:
        tables = client.query("SELECT table_name, engine FROM information_schema.tables "
                              f"WHERE table_schema = '{database}'")
        t.equal({name.lower() for _, name in tables}, {engine.lower()})
        t.equal(len(tables), count)
        for name, _ in tables:
            t.check_table(f"{database}.{name}", client)


def test_tpcc(t, tpc, engine):
    tool, server = tpc
    _default_engine(t, server, engine)

    def run(*arguments):
        return tool.run(server, "tpc", "tpcc", *arguments, "--warehouses", "1", "-T",
                        str(_SESSIONS))

    run("prepare", "--no-check")
    with t.client(server) as client:
        # Without it one condition reads the whole history for each of 30,000 customers.
        client.execute("ALTER TABLE tpc.history ADD KEY (h_c_w_id, h_c_d_id, h_c_id)")
    run("check", "--check-all")
    said = run("run", "--count", str(_TRANSACTIONS))
    done = set(re.findall(r"\[Summary\] (\w+) +-.*?Count: [1-9]", said))
    t.equal(done & _KINDS, _KINDS, said)
    run("check", "--check-all")
    server.kill()
    server.start()
    run("check", "--check-all")
    _check_tables(t, server, "tpc", engine, _TPCC_TABLES)


def _prepare_tpch(t, tpc, engine):
    tool, server = tpc
    _default_engine(t, server, engine)
    tool.run(server, f"tpch_{engine}", "tpch", "prepare")
    with t.client(server, f"tpch_{engine}", timeout_s=_LIMIT_S) as client:
        # Without it two queries read all order lines once for each part.
        client.execute("ALTER TABLE lineitem ADD KEY (l_partkey, l_suppkey)")
        client.execute(f"ANALYZE TABLE {', '.join(_TPCH_TABLES)}")
    _check_tables(t, server, f"tpch_{engine}", engine, len(_TPCH_TABLES))


def _answer(client, statements):
    """The rows of the one that has any: q15 makes a view, asks it and drops it."""
    return [row for statement in statements for row in client.query(statement)]


def test_tpch(t, tpc):
    tool, server = tpc
    engines = ("rowan", "innodb")
    for engine in engines:
        _prepare_tpch(t, tpc, engine)
    with t.client(server, "tpch_rowan", timeout_s=_LIMIT_S) as rowan, \
            t.client(server, "tpch_innodb", timeout_s=_LIMIT_S) as innodb:
        for table in _TPCH_TABLES:
            checksum = f"CHECKSUM TABLE {table}"
            t.equal(rowan.query(checksum)[0][1], innodb.query(checksum)[0][1], table)
        queries, empty = tool.tpch_queries(), set()
        t.equal(set(queries), _QUERIES)
        for name, statements in queries.items():
            rows = _answer(rowan, statements)
            t.equal(rows, _answer(innodb, statements), name)
            if not rows:
                empty.add(name)
        t.equal(empty, _WITHOUT_ROWS)
