# SPDX-License-Identifier: GPL-2.0-only
"""Debezium within a program: a snapshot of a table, then what is done to it, the same of both
engines."""
import json
import os
import subprocess
from pathlib import Path

from application import SCHEMA
from framework import free_port
from tools import debezium, run

_PROGRAM = Path(__file__).with_name("applications") / "debezium/Changes.java"
_TABLE = ("CREATE TABLE kinds (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20), doc JSON, "
          "price DECIMAL(20,6), big BIGINT UNSIGNED, real_part DOUBLE, day DATE, clock TIME(6), "
          "at DATETIME(6), stamp TIMESTAMP(3) NULL, born YEAR, data BLOB, bits BIT(10), "
          "choice ENUM('x', 'y'), parts SET('a', 'b', 'c'), spot POINT, "
          "letters INT AS (CHAR_LENGTH(name)) STORED)")
_COLUMNS = ("(name, doc, price, big, real_part, day, clock, at, stamp, born, data, bits, choice, "
            "parts, spot)")
_ROW = ("('näm{n}🜚', '{{\"a\": [{n}, null, 1.5], \"s\": \"ü\"}}', -12345678901234.{n}5, "
        "18446744073709551610, {n}.25, '2026-01-{n:02}', '-838:59:58.{n}', "
        "'1000-01-01 00:00:00.00000{n}', '2026-01-02 03:04:05.{n}78', 2100, x'00FF{n:02}', "
        "b'10{n:04b}', 'y', 'a,c', ST_PointFromText('POINT({n} 2.5)'))")
_SNAPSHOT, _CHANGES = 4, 7


class _Reader:
    """The program's events, without what differs from run to run."""

    def __init__(self, t, classes, folder, server):
        self._t, self._events = t, []
        self._errors = open(folder / "debezium.log", "wb")
        self._process = subprocess.Popen(
            ["java", "-cp", classes, "Changes", str(folder)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self._errors, encoding="utf-8",
            env={**os.environ, "LC_ALL": "C.UTF-8", "APP_PORT": str(server.port),
                 "APP_DATABASE": SCHEMA})

    def take(self, count):
        """The next events: what was done, in which table, before and after."""
        taken = []
        while len(taken) < count:
            line = self._process.stdout.readline()
            self._t.true(line, f"the program ended; see {self._errors.name}")
            event = json.loads(line)
            taken.append((event["op"], event["source"]["table"], event["before"], event["after"]))
        return taken

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self._process.stdin.close()
        self._process.wait()
        self._errors.close()


def _work(client):
    client.execute(f"INSERT INTO kinds {_COLUMNS} VALUES {_ROW.format(n=7)}")
    client.execute("BEGIN")
    client.execute("UPDATE kinds SET doc = JSON_SET(doc, '$.a[0]', 'new'), price = price / 3, "
                   "clock = '00:00:00.5', name = NULL WHERE id IN (1, 2)")
    client.execute("DELETE FROM kinds WHERE id = 3")
    client.execute("SAVEPOINT here")
    client.execute("DELETE FROM kinds")
    client.execute("ROLLBACK TO here")
    client.execute("COMMIT")
    client.execute("ALTER TABLE kinds ADD COLUMN more VARCHAR(9) DEFAULT 'm' AFTER id")
    client.execute("UPDATE kinds SET more = 'changed' WHERE id = 1")
    client.execute("UPDATE kinds SET id = 99 WHERE id = 2")


def test_snapshot_and_stream(t, tmp_path):
    libraries = debezium()
    classes = f"{tmp_path}:{libraries}/*"
    run(["javac", "-cp", classes, "-d", str(tmp_path), str(_PROGRAM)])
    seen = {}
    for engine in ("ROWAN", "InnoDB"):
        server = t.new_server(binlog=True, options=(
            "--binlog-row-metadata=FULL", "--default-time-zone=+00:00", "--gtid-mode=ON",
            "--enforce-gtid-consistency=ON"))
        server.port = free_port()
        server.start()
        folder = tmp_path / engine
        folder.mkdir()
        client = t.client(server, database=SCHEMA)
        client.execute(f"SET default_storage_engine = {engine}")
        client.execute("CREATE USER app IDENTIFIED BY 'secret'")
        client.execute("GRANT ALL ON *.* TO app")
        client.execute(_TABLE)
        client.execute(f"INSERT INTO kinds {_COLUMNS} VALUES "
                       + ", ".join(_ROW.format(n=n) for n in (1, 2, 3)))
        client.execute("INSERT INTO kinds VALUES ()")
        with _Reader(t, classes, folder, server) as reader:
            seen[engine] = reader.take(_SNAPSHOT)
            _work(client)
            seen[engine] += reader.take(_CHANGES)
    t.equal("".join(event[0] for event in seen["ROWAN"]), "rrrrcuududc")
    t.equal(seen["ROWAN"], seen["InnoDB"])
    t.equal(seen["ROWAN"][1][3]["name"], "näm2🜚")
