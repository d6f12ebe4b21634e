# SPDX-License-Identifier: GPL-2.0-only
"""Damage of a page that no statement reads is found by scrubbing while the server runs."""
import os


_PAGE = 16384


def _metric(client, name):
    return client.query("SELECT COUNT FROM INFORMATION_SCHEMA.ROWAN_METRICS "
                        f"WHERE NAME = '{name}'")[0][0]


def _fill(client, table):
    client.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, v VARCHAR(1000))")
    rows = ", ".join(f"({n}, REPEAT('v', 1000))" for n in range(500))
    client.execute(f"INSERT INTO {table} VALUES {rows}")


def test_a_cold_page_that_is_damaged_is_named(t):
    server = t.new_server()
    server.start()
    client = t.client(server)
    for table in ("good", "bad"):
        _fill(client, table)
    t.true(server.stop(), "no orderly shutdown")
    server.start(["--rowan-scrub-bytes-per-second=0"])
    client = t.client(server)
    folder = os.path.join(str(server.data), "rowan")
    newest = max((name for name in os.listdir(folder) if name.startswith("space_")),
                 key=lambda name: int(name[6:-4]))
    with open(os.path.join(folder, newest), "r+b") as file:
        file.seek(20 * _PAGE + 2000)
        file.write(b"damage")
        os.fsync(file.fileno())
    t.equal(client.value("SELECT COUNT(*) FROM good"), 500)
    t.equal(_metric(client, "scrub_pages_read"), 0, "off")
    client.execute("SET GLOBAL rowan_scrub_bytes_per_second = 1 << 30")
    t.wait_for(lambda: _metric(client, "scrub_rounds") >= 1, "a round")
    t.true(_metric(client, "scrub_pages_damaged") >= 1, "the page is not found")
    t.true("Page 20 of '" in server.messages() and newest in server.messages(),
           f"the error log names it: {server.messages()}")
    report = client.query("SHOW ENGINE ROWAN STATUS")[0][2]
    t.true("last finding: Page 20 of" in report, report)
    t.error("SET GLOBAL rowan_scrub_bytes_per_second = -1", 1231, client)
    t.equal(client.value("SELECT COUNT(*) FROM good WHERE LENGTH(v) = 1000"), 500)


def test_nothing_is_found_beside_writers(t):
    server = t.new_server()
    server.start()
    client = t.client(server)
    client.execute("SET GLOBAL rowan_io_capacity = 10000000")
    client.execute("SET GLOBAL rowan_scrub_bytes_per_second = 1 << 30")
    _fill(client, "busy")
    rounds = _metric(client, "scrub_rounds")
    while _metric(client, "scrub_rounds") < rounds + 3:
        client.execute("UPDATE busy SET v = REPEAT('u', 900) WHERE id % 7 = 3")
        client.execute("UPDATE busy SET v = REPEAT('w', 500) WHERE id % 7 = 3")
        client.execute("CREATE TABLE passing (id INT PRIMARY KEY)")
        client.execute("DROP TABLE passing")
    for finding in ("scrub_pages_damaged", "scrub_pages_rewritten"):
        t.equal(_metric(client, finding), 0, finding)
