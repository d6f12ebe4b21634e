# SPDX-License-Identifier: GPL-2.0-only
"""A reader of the binary log (PyPI's mysql-replication) sees the same rows of both engines."""
import sys

import pytest

from framework import free_port
from tools import binlog_reader

_ROWS = ("(1, 'äb', '{\"a\": [1, null]}', -12.34, '2026-01-02 03:04:05.678', 0x00FF, 'x', TRUE)",
         "(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL)")


def _read(server, schema):
    """What was done to the schema's rows, in order."""
    sys.path.insert(0, str(binlog_reader()))
    from pymysqlreplication import BinLogStreamReader
    from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent
    stream = BinLogStreamReader(
        connection_settings={"unix_socket": str(server.socket), "user": "root", "password": "",
                             "host": "localhost"},
        server_id=99, blocking=False, only_schemas=[schema],
        only_events=[WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent], resume_stream=False)
    changes = [(type(event).__name__, row) for event in stream for row in event.rows]
    stream.close()
    return changes


def test_changes_of_rows(t):
    pytest.importorskip("pip", reason="there is no pip to fetch mysql-replication with")
    server = t.new_server(binlog=True, options=("--binlog-row-metadata=FULL",))
    server.port = free_port()
    server.start()
    seen = {}
    for engine in ("ROWAN", "InnoDB"):
        client = t.client(server, database=engine)
        client.execute("CREATE TABLE kinds (id INT PRIMARY KEY, name VARCHAR(20), doc JSON, "
                       "price DECIMAL(10,2), at DATETIME(3), data BLOB, choice ENUM('x', 'y'), "
                       f"flag BOOL) ENGINE={engine}")
        client.execute(f"INSERT INTO kinds VALUES {', '.join(_ROWS)}")
        client.execute("UPDATE kinds SET doc = JSON_SET(doc, '$.a[0]', 7), price = 1 WHERE id = 1")
        client.execute("DELETE FROM kinds WHERE id = 2")
        seen[engine] = _read(server, engine)
    t.equal([name for name, _ in seen["ROWAN"]],
            ["WriteRowsEvent", "WriteRowsEvent", "UpdateRowsEvent", "DeleteRowsEvent"])
    t.equal(seen["ROWAN"], seen["InnoDB"])
