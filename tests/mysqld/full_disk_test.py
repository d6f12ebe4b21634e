# SPDX-License-Identifier: GPL-2.0-only
"""What is undone while the disk is full, and that a server goes on by itself when it has room."""
from framework import Failure
from rowantools.client import MysqlError
from small_disk import SmallDisk

_ROWS = 20000


def _fill_gaps(client):
    """Rows between those there are, until there is no room for more."""
    for gap in range(1, 99):
        for first in range(0, _ROWS, 500):
            try:
                client.execute("INSERT INTO undone VALUES " + ", ".join(
                    f"({100 * row + gap}, {row % 7}, REPEAT('g', 150))"
                    for row in range(first, first + 500)))
            except MysqlError as error:
                return error
    raise Failure("the disk never filled up")


def test_a_rollback_on_a_full_disk_is_through_when_it_has_room(t):
    if t.engine != "ROWAN":
        t.skip("about our folder")
    with SmallDisk(t, 160) as disk:
        server = t.new_server(options=["--loose-rowan-redo-log-capacity=16M",
                                       f"--loose-rowan-data-home-dir={disk.folder}/rowan"])
        try:
            server.start()
            writer, filler = t.client(server), t.client(server)
            writer.execute("CREATE TABLE undone (id INT PRIMARY KEY, k INT, v VARCHAR(500), "
                           "KEY (k))")
            for first in range(0, _ROWS, 1000):
                writer.execute("INSERT INTO undone VALUES " + ", ".join(
                    f"({100 * row}, {row % 7}, REPEAT('r', 400))"
                    for row in range(first, first + 1000)))
            # A range would keep the others from its gaps.
            writer.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
            writer.execute("BEGIN")
            writer.execute("UPDATE undone SET v = ''")
            error = _fill_gaps(filler)
            t.equal(error.code, 1114, f"the table is full: {error}")
            writer.execute("ROLLBACK")
            disk.resize(400)
            t.wait_for(lambda: not filler.query("SELECT * FROM information_schema.rowan_trx"),
                       "the rollback")
            t.equal(filler.query("SELECT COUNT(*), SUM(LENGTH(v)) FROM undone WHERE id % 100 = 0 "
                                 "FOR UPDATE NOWAIT"), [(_ROWS, str(400 * _ROWS))])
            t.check_table("undone", filler)
            filler.execute("UPDATE undone SET k = k + 1 WHERE id = 100")
        finally:
            server.destroy()
