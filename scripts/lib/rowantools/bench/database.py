# SPDX-License-Identifier: GPL-2.0-only
"""Statements of the driver itself to a target: set-up, settings, counters."""
import contextlib

from ..paths import UserError

_CONNECT_S = 10


@contextlib.contextmanager
def connect(target, database=None):
    """A Connection to the target's database, or to `database`."""
    name = target.database if database is None else database
    connection = Connection(_open(target, name), target.protocol)
    try:
        yield connection
    finally:
        connection.close()


class Connection:
    """Statements over a driver of either kind; every one commits by itself."""

    def __init__(self, raw, protocol):
        self._raw, self.protocol = raw, protocol

    def execute(self, statement):
        """The rows, or nothing."""
        cursor = self._raw.cursor()
        try:
            cursor.execute(statement)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        finally:
            cursor.close()

    def value(self, statement):
        rows = self.execute(statement)
        return rows[0][0] if rows else None

    def close(self):
        with contextlib.suppress(Exception):
            self._raw.close()


def error_types():
    """What the drivers raise when the server refuses a statement or is gone."""
    import pg8000.exceptions
    import pymysql
    return (pymysql.MySQLError, pg8000.exceptions.DatabaseError, pg8000.exceptions.InterfaceError,
            OSError)


def _open(target, database):
    try:
        return _open_postgres(target, database) if target.protocol == "postgres" else \
            _open_mysql(target, database)
    except error_types() as error:
        raise UserError(f"{target.name}: no connection ({target.address()}): {sentence(error)}")


def _open_mysql(target, database):
    import pymysql
    place = {"unix_socket": target.socket} if target.socket else \
        {"host": target.host, "port": target.port}
    return pymysql.connect(user=target.user, password=target.password, database=database or None,
                           charset="utf8mb4", autocommit=True, connect_timeout=_CONNECT_S, **place)


def _open_postgres(target, database):
    import pg8000.dbapi
    place = {"host": target.host or "localhost", "port": target.port}
    if target.socket:
        place = {"unix_sock": f"{target.socket}/.s.PGSQL.{target.port}"}
    raw = pg8000.dbapi.connect(user=target.user, password=target.password or None,
                               database=database or "postgres", timeout=None, **place)
    raw.autocommit = True
    return raw


def sentence(error):
    """What a server or the system says."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(part) for part in error.args) if error.args else type(error).__name__


def identity(target):
    """What is the same for two addresses of one database of one server."""
    query = "SELECT CONCAT_WS(' ', @@hostname, @@port, @@datadir, DATABASE())"
    if target.protocol == "postgres":
        query = ("SELECT concat_ws(' ', pg_postmaster_start_time(), current_setting('port'), "
                 "current_database())")
    with connect(target) as connection:
        return connection.value(query)


def create_database(target):
    """An empty database of the target's name. Databases of others are never dropped: at an address
    only the tables of the workload go."""
    if not target.own:
        with connect(target):
            return
    with connect(target, database="") as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {target.database}")
        connection.execute(f"CREATE DATABASE {target.database}")
