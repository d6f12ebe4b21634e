# SPDX-License-Identifier: GPL-2.0-only
"""A server for an application that knows nothing of Rowan: what it creates with ENGINE=InnoDB, or
without naming an engine, gets the default engine (docs/ecosystem.md)."""
import os

from framework import free_port

SCHEMA = "app"
_INSTEAD_OF_INNODB = ("--disabled-storage-engines=InnoDB",
                      "--sql-mode=ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,"
                      "NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO")


class Application:
    """A server whose default engine is the one under test, with an account and a database."""

    def __init__(self, t, engine):
        self._t, self._engine = t, engine
        self.server = t.new_server(_INSTEAD_OF_INNODB if engine == "ROWAN" else ())
        self.server.port = free_port()
        self.server.start()
        self.client = t.client(self.server, database=SCHEMA)
        self.client.execute(f"SET GLOBAL default_storage_engine = {engine}")
        self.client.execute("CREATE USER app IDENTIFIED BY 'secret'")
        self.client.execute("GRANT ALL ON *.* TO app")
        self.environment = {**os.environ, "APP_PORT": str(self.server.port),
                            "APP_SOCKET": str(self.server.socket), "APP_DATABASE": SCHEMA}

    def check(self, tables_min):
        """All its tables are the engine's, and whole."""
        tables = self.client.query(
            "SELECT table_name, UPPER(engine) FROM information_schema.tables "
            f"WHERE table_schema = '{SCHEMA}' AND table_type = 'BASE TABLE'")
        self._t.true(len(tables) >= tables_min, f"{tables}")
        self._t.equal({engine for _, engine in tables}, {self._engine.upper()})
        for name, _ in tables:
            self._t.check_table(f"`{SCHEMA}`.`{name}`", self.client)
