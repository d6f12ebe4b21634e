# SPDX-License-Identifier: GPL-2.0-only
"""Single queries that the driver itself runs and times, one client: what takes milliseconds."""
import time

from ..paths import UserError
from . import database

_ROWS_A_STATEMENT = 2000
# Error numbers and states of a statement that took longer than it may.
_TOO_LONG = ("3024", "1969", "57014")


def require_mysql(targets, what, server=""):
    """UserError unless all targets speak MySQL's protocol, or are that server."""
    others = [target.name for target in targets if target.protocol != "mysql"
              or (server and target.kind != server)]
    if others:
        raise UserError(f"{what} is written for MySQL; {', '.join(others)} cannot run it")


def require_private(targets, what):
    """UserError unless all targets are engines of the private MySQL."""
    others = [target.name for target in targets if target.kind != "mysql" or not target.own]
    if others:
        raise UserError(f"{what} needs a server that it starts itself, for rowan and innodb; "
                        f"{', '.join(others)} cannot be measured")


def fill(connection, table, rows):
    """Inserts tuples of numbers and texts, many a statement."""
    batch = []
    for row in rows:
        batch.append("(" + ", ".join(f"'{value}'" if isinstance(value, str) else str(value)
                                     for value in row) + ")")
        if len(batch) == _ROWS_A_STATEMENT:
            connection.execute(f"INSERT INTO {table} VALUES " + ", ".join(batch))
            batch = []
    if batch:
        connection.execute(f"INSERT INTO {table} VALUES " + ", ".join(batch))


def create(connection, target, table, columns):
    """An empty table of the target's engine in place of one that may be there."""
    engine = f"ENGINE = {target.engine}" if target.protocol == "mysql" else ""
    connection.execute(f"DROP TABLE IF EXISTS {table}")
    connection.execute(f"CREATE TABLE {table} ({columns}) {engine}")


def analyze(connection, *tables):
    """Statistics of the tables; for PostgreSQL the visibility map, too."""
    for table in tables:
        connection.execute(f"VACUUM ANALYZE {table}" if connection.protocol == "postgres"
                           else f"ANALYZE TABLE {table}")


def limit_time(connection, target, seconds):
    """No statement of this session takes longer."""
    statement = {"postgres": f"SET statement_timeout = {seconds * 1000}",
                 "mariadb": f"SET max_statement_time = {seconds}"}.get(
        target.kind, f"SET max_execution_time = {seconds * 1000}")
    connection.execute(statement)


def timed(connection, query):
    """(answer, milliseconds); the answer is None where the time limit ended the query."""
    start = time.perf_counter()
    try:
        answer = connection.execute(query)
    except database.error_types() as error:
        if any(code in str(error) for code in _TOO_LONG):
            return None, None
        raise
    return answer, (time.perf_counter() - start) * 1000


def handler_reads(connection):
    """Rows that the server has asked engines for in this session; None where it does not tell."""
    if connection.protocol != "mysql":
        return None
    rows = connection.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
    return sum(int(value) for _, value in rows)


def timed_with_reads(connection, query):
    """(answer, milliseconds, rows that the server has asked engines for)"""
    before = handler_reads(connection)
    answer, milliseconds = timed(connection, query)
    after = handler_reads(connection)
    return answer, milliseconds, None if before is None else after - before


def has_variable(connection, name):
    return connection.protocol == "mysql" and bool(
        connection.execute(f"SHOW VARIABLES LIKE '{name}'"))


def status(connection, name):
    """A global status counter as a number; None where there is none."""
    rows = connection.execute(f"SHOW GLOBAL STATUS LIKE '{name}'")
    return int(rows[0][1]) if rows else None


def size_mib(target):
    """MiB of tables and indexes, as the server counts them."""
    with database.connect(target) as connection:
        if target.protocol == "postgres":
            size = connection.value("SELECT pg_database_size(current_database())")
        else:
            if has_variable(connection, "information_schema_stats_expiry"):
                connection.execute("SET information_schema_stats_expiry = 0")
            size = connection.value("SELECT SUM(data_length + index_length) FROM "
                                    "information_schema.tables WHERE table_schema = DATABASE()")
    return None if size is None else float(size) / (1 << 20)
