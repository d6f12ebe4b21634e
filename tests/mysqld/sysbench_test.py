# SPDX-License-Identifier: GPL-2.0-only
"""All stock sysbench workloads, with a buffer pool far smaller than the data; then a full check."""
import time

from framework import ENGINE
from rowantools.client import MysqlError
from rowantools.sysbench import BULK_INSERT, OLTP, Sysbench

_ROWS = 60_000
_THREADS = 4
_SECONDS = 1
_ROWS_LONG, _SECONDS_LONG = 4_000_000, 30  # 1 GiB of data


def _run(t, server, names):
    rows, seconds = (_ROWS_LONG, _SECONDS_LONG) if t.long else (_ROWS, _SECONDS)
    bench = Sysbench(server, _THREADS, rows, rand_type="uniform")
    engine = ENGINE.lower()
    bench.prepare(engine)
    for name in names:
        print(f"{name}: {bench.run(engine, name, seconds):,.0f}/s", flush=True)
    client = t.client(server, database=bench.database(engine), timeout_s=600)
    t.check_table("sbtest1", client)
    _indexes_agree(t, client)


def _indexes_agree(t, client):
    clustered = client.query("SELECT COUNT(*), SUM(k), SUM(CAST(id AS UNSIGNED)) FROM sbtest1 "
                             "FORCE INDEX (PRIMARY)")
    secondary = client.query("SELECT COUNT(*), SUM(k), SUM(CAST(id AS UNSIGNED)) FROM sbtest1 "
                             "FORCE INDEX (k_1) WHERE k >= 0")
    t.equal(secondary, clustered, "the secondary index disagrees with the rows")


def test_workloads_on_a_small_pool(t):
    server = t.new_server(buffer_pool="16M" if not t.long else "64M")
    server.start()
    _run(t, server, [name for name in OLTP if name != "oltp_delete"])


def test_workloads_with_the_binlog(t):
    server = t.new_server(binlog=True)
    server.start()
    _run(t, server, ["oltp_write_only", "oltp_delete", "oltp_insert"])


def test_bulk_insert(t):
    server = t.new_server()
    server.start()
    Sysbench(server, 2, 1000).run(ENGINE.lower(), BULK_INSERT, 1)  # fails where it does nothing


def test_rows_survive_a_crash_in_the_middle(t):
    server = t.new_server(buffer_pool="16M")
    server.start()
    engine = ENGINE.lower()
    bench = Sysbench(server, _THREADS, _ROWS, rand_type="uniform")
    bench.prepare(engine)

    def load():
        try:
            bench.run(engine, "oltp_write_only", 5)
        except Exception:  # the server dies under it; sysbench reports that in its own words
            pass

    def crash():
        time.sleep(2)
        server.kill()
    t.threads([load, crash])
    server.start()
    client = t.client(server, database=bench.database(engine))
    t.check_table("sbtest1", client)
    _indexes_agree(t, client)
    try:
        t.equal(client.value("SELECT COUNT(*) FROM sbtest1"), _ROWS, "rows after the crash")
    except MysqlError as error:
        raise AssertionError(f"the table cannot be read after the crash: {error}") from error
