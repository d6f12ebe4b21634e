# SPDX-License-Identifier: GPL-2.0-only
"""go-tpc, built from the Go module proxy: TPC-C. It checks the conditions of consistency after
loading, after a run, and after a kill of the server."""
import re

from framework import free_port
from tools import go_tpc, run

_SESSIONS, _TRANSACTIONS = 4, 600
_KINDS = {"DELIVERY", "NEW_ORDER", "ORDER_STATUS", "PAYMENT", "STOCK_LEVEL"}
_TABLES = 9


class _Tpc:
    """A server whose default engine is the one under test."""

    def __init__(self, t, engine):
        self.program = go_tpc()
        self.server = t.new_server()
        self.server.port = free_port()
        self.server.start()
        with t.client(self.server) as client:
            client.execute(f"SET GLOBAL default_storage_engine = {engine}")
            client.execute("CREATE USER tpc")
            client.execute("GRANT ALL ON *.* TO tpc")

    def run(self, *arguments):
        return run([str(self.program), *arguments, "--warehouses", "1", "-P",
                    str(self.server.port), "-U", "tpc", "-D", "tpc", "-T", str(_SESSIONS)])


def test_tpcc(t, engine):
    tpc = _Tpc(t, engine)
    tpc.run("tpcc", "prepare", "--no-check")
    with t.client(tpc.server) as client:
        # Without it one condition reads the whole history for each of 30,000 customers.
        client.execute("ALTER TABLE tpc.history ADD KEY (h_c_w_id, h_c_d_id, h_c_id)")
    tpc.run("tpcc", "check", "--check-all")
    said = tpc.run("tpcc", "run", "--count", str(_TRANSACTIONS))
    done = set(re.findall(r"\[Summary\] (\w+) +-.*?Count: [1-9]", said))
    t.equal(done & _KINDS, _KINDS, said)
    tpc.run("tpcc", "check", "--check-all")
    tpc.server.kill()
    tpc.server.start()
    tpc.run("tpcc", "check", "--check-all")
    with t.client(tpc.server) as client:
        tables = client.query("SELECT table_name, engine FROM information_schema.tables "
                              "WHERE table_schema = 'tpc'")
        t.equal({name.lower() for _, name in tables}, {engine.lower()})
        t.equal(len(tables), _TABLES)
        for name, _ in tables:
            t.check_table(f"tpc.{name}", client)
