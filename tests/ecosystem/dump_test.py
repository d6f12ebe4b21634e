# SPDX-License-Identifier: GPL-2.0-only
"""mydumper with myloader, and mysqldump: while others write; what is loaded is what was there."""
import pytest

from beside import Beside
from tools import Tools, run

pytestmark = pytest.mark.server(binlog=True)


def _fill(t, engine):
    t.run("CREATE TABLE kinds (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40), doc JSON, "
          f"price DECIMAL(10,2), at DATETIME(6), data BLOB, KEY (name)) ENGINE={engine}",
          "INSERT INTO kinds (name, doc, price, at, data) WITH RECURSIVE n (i) AS (SELECT 1 UNION "
          "ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT CONCAT('nämé ', i), JSON_OBJECT('a', i), "
          "i / 7, '2026-01-02' + INTERVAL i SECOND, REPEAT(CHAR(i % 256), i % 50) FROM n",
          f"CREATE TABLE sums (id INT PRIMARY KEY, amount INT) ENGINE={engine}",
          "INSERT INTO sums VALUES (1, 500), (2, 500)")


class _Transfers(Beside):
    """Moves amounts between two rows while it is entered: their sum never changes."""

    def step(self):
        self.client.execute("BEGIN")
        self.client.execute("UPDATE sums SET amount = amount - 1 WHERE id = 1")
        self.client.execute("UPDATE sums SET amount = amount + 1 WHERE id = 2")
        self.client.execute("COMMIT")


def _check_loaded(t, engine):
    (_, loaded), (_, filled) = t.run("CHECKSUM TABLE loaded.kinds, kinds")
    t.true(loaded and loaded == filled, f"checksums {loaded} and {filled}")
    t.rows("SELECT CAST(SUM(amount) AS SIGNED), COUNT(*) FROM loaded.sums", [(1000, 2)])
    t.rows("SELECT DISTINCT UPPER(engine) FROM information_schema.tables WHERE table_schema = "
           "'loaded'", [(engine.upper(),)])
    t.run("DROP DATABASE loaded")


@pytest.mark.parametrize("option", ["--trx-consistency-only", "--no-views"])
def test_mydumper_and_myloader(t, engine, tmp_path, option):
    """With --trx-consistency-only writers go on; otherwise those to Rowan's tables wait."""
    tools = Tools(t.server)
    _fill(t, engine)
    with _Transfers(t) as transfers:
        t.wait_for(lambda: transfers.count > 3, "transfers")
        tools.run("mydumper", "--socket", t.server.socket, "--user=root", "--database", t.database,
                  "--outputdir", tmp_path / "dump", option)
    tools.run("myloader", "--socket", t.server.socket, "--user=root", "--database=loaded",
              "--directory", tmp_path / "dump")
    _check_loaded(t, engine)


def test_mysqldump(t, engine, tmp_path):
    _fill(t, engine)
    programs = t.server.tree.basedir / "bin"
    access = ["--no-defaults", f"--socket={t.server.socket}", "--user=root"]
    with _Transfers(t) as transfers:
        t.wait_for(lambda: transfers.count > 3, "transfers")
        run([str(programs / "mysqldump"), *access, "--single-transaction", "--source-data=2",
             "--hex-blob", "--set-gtid-purged=OFF",
             f"--result-file={tmp_path / 'dump.sql'}", t.database])
    t.run("CREATE DATABASE loaded")
    with open(tmp_path / "dump.sql") as dump:
        run([str(programs / "mysql"), *access, "loaded"], stdin=dump)
    _check_loaded(t, engine)
