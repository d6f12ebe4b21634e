# SPDX-License-Identifier: GPL-2.0-only
"""scripts/cluster: a source that is killed under load, a replica promoted, the old one taken back.

ROWAN_TEST_LONG=1 adds HAProxy or MySQL Router in front and more failovers."""
import re
import subprocess

import pytest

from framework import LONG, ROOT
from rowantools.cluster import load as loads
from rowantools.cluster.failover import rejoin
from rowantools.cluster.members import Cluster
from rowantools.paths import UserError


def _cluster(t, *arguments, status=0):
    result = subprocess.run([str(ROOT / "scripts" / "cluster"), *arguments, "--dir",
                             str(t.server.folder / "cluster")], capture_output=True, text=True,
                            stdin=subprocess.DEVNULL, timeout=900)
    t.equal(result.returncode, status, result.stdout + result.stderr)
    return result.stdout + result.stderr


def _roles(status):
    return re.findall(r"server \d, port \d+: (\w+)", status)


@pytest.mark.parametrize("front", ["haproxy", "router"] if LONG else ["none"])
def test_a_killed_source_is_replaced_and_comes_back(t, front):
    try:
        told = _cluster(t, "start", "--buffer-pool", "64M", "--front", front)
        t.equal(_roles(told), ["source", "replica", "replica"], told)
        for _ in range(5 if t.long else 1):
            told = _cluster(t, "failover", "--seconds", "6")
            t.true("none lost" in told and "the same on 3 servers" in told, told)
        status = _cluster(t, "status")
        t.equal(sorted(_roles(status)), ["replica", "replica", "source"], status)
        _cluster(t, "stop")
        t.true("not running" in _cluster(t, "status", status=3), "a stopped cluster")
        t.equal(_roles(_cluster(t, "start")), _roles(status), "roles after a stop")
        t.true("runs and is the source" in _cluster(t, "promote", status=1), "a source that runs")
    finally:
        _cluster(t, "destroy")
    t.true(not (t.server.folder / "cluster").exists(), "destroyed")


def test_a_server_with_transactions_of_its_own_is_built_anew(t):
    cluster = Cluster(t.server.folder / "cluster")
    cluster.create(1, "rowan", "64M", front="none")
    try:
        cluster.start_all()
        with cluster.client(0) as client:
            loads.prepare(client, "rowan")
        cluster.await_replica(1)
        with cluster.client(1) as replica:  # as if no replica had got it before the crash
            replica.execute("SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF")
            replica.execute(f"INSERT INTO {loads.DATABASE}.ledger VALUES (9, 9, 'its own')")
        why = rejoin(cluster, 1)
        t.true("has transactions that the source lacks" in why, why)
        cluster.await_replica(1)
        with cluster.client(0) as source, cluster.client(1) as replica:
            t.equal(loads.compare(source, replica), 1000, "rows of both")
    finally:
        for number in cluster.numbers():
            cluster.server(number).kill()


def test_what_a_load_was_promised_is_demanded(t):
    load = loads.Load(lambda: None, 2, seed=1)
    server = t.server
    with server.client() as client:
        loads.prepare(client, "rowan")
        load.check(client)
        load.writers[0].unknown.add(1)
        load.check(client)
        client.execute(f"INSERT INTO {loads.DATABASE}.ledger VALUES (1, 1, '')")
        load.check(client)
        for damage, said in (
                (lambda: load.writers[1].acknowledged.add(7), "1 acknowledged transactions"),
                (lambda: client.execute(f"INSERT INTO {loads.DATABASE}.ledger VALUES (1, 8, '')"),
                 "1 were never sent"),
                (lambda: client.execute(f"UPDATE {loads.DATABASE}.accounts SET balance = 0 "
                                        "WHERE id = 5"), "the accounts hold")):
            damage()
            try:
                load.check(client)
                t.true(False, f"not noticed: {said}")
            except UserError as error:
                t.true(said in str(error), str(error))
            load.writers[1].acknowledged.discard(7)
            client.execute(f"DELETE FROM {loads.DATABASE}.ledger WHERE n = 8")
        client.execute(f"DROP DATABASE {loads.DATABASE}")
