# SPDX-License-Identifier: GPL-2.0-only
"""Many tables and few file descriptors. ROWAN_TEST_LONG=1: 20,000 tables under a limit of 1,024."""
import resource
import time

from framework import HUNG_S, LONG

CREATORS = 4
# rowan_shutdown_timeout, the batches under way, the server's own work, on a busy machine.
SHUTDOWN_LIMIT_S = 10 if LONG else HUNG_S


def _limited(t, limit):
    """A server that may open `limit` files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        server = t.new_server([f"--open-files-limit={limit}", "--table-open-cache=200",
                               "--max-connections=50"])
        server.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    return server


def _in_parallel(t, server, tables, statement):
    """Runs the statement for each table number, a share of them in each of a few sessions."""
    def work(share):
        with_client = t.client(server, database="many", timeout_s=600.0)
        for number in range(share, tables, CREATORS):
            with_client.execute(statement.format(n=number))
    begin = time.monotonic()
    t.threads([lambda share=share: work(share) for share in range(CREATORS)], limit_s=7200.0)
    return tables / (time.monotonic() - begin)


def _status(client, name):
    return int(client.query(f"SHOW GLOBAL STATUS LIKE 'Rowan_{name}'")[0][1])


def test_tables_written_in_turn(t):
    tables, limit = (20_000, 1024) if t.long else (40, 1024)
    server = _limited(t, limit)
    created = _in_parallel(t, server, tables,
                           "CREATE TABLE t{n} (id INT PRIMARY KEY, v INT) ENGINE=" + t.engine)
    rates = [_in_parallel(t, server, tables, "INSERT INTO t{n} VALUES (" + str(row) + ", {n})")
             for row in range(2)]
    client = t.client(server, database="many", timeout_s=600.0)
    if t.engine == "ROWAN":
        t.true(_status(client, "open_files_max") <= limit // 2, "the share of descriptors")
        t.true(_status(client, "open_files") <= _status(client, "open_files_max") + 64,
               "handles stay within it")
        t.equal(_status(client, "stopped"), 0, "stopped")
    # All pages home, then a start that reads them again.
    begin = time.monotonic()
    t.true(server.stop(), "an orderly shutdown")
    stopped_s = time.monotonic() - begin
    if t.engine == "ROWAN":
        t.true(stopped_s < SHUTDOWN_LIMIT_S, f"a shutdown within seconds, not {stopped_s:.1f} s")
    begin = time.monotonic()
    server.start()
    started_s = time.monotonic() - begin
    read = _in_parallel(t, server, tables, "SELECT SUM(v) FROM t{n}")
    client = t.client(server, database="many")
    for number in (0, tables // 2, tables - 1):
        t.equal(client.query(f"SELECT COUNT(*), CAST(SUM(v) AS SIGNED) FROM t{number}"),
                [(2, 2 * number)])
    if t.long:
        print(f"{tables} tables, {limit} descriptors: {created:.0f} created/s, "
              f"{rates[0]:.0f} and {rates[1]:.0f} inserted into/s, shutdown {stopped_s:.1f} s, "
              f"start {started_s:.1f} s, {read:.0f} read/s", flush=True)
