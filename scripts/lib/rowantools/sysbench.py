# SPDX-License-Identifier: GPL-2.0-only
"""Runs stock sysbench workloads against one engine of a running server, and reads their rates."""
import os
import re
import subprocess

from .client import MysqlError
from .paths import UserError

OLTP = ("oltp_point_select", "select_random_points", "select_random_ranges", "oltp_read_only",
        "oltp_read_write", "oltp_write_only", "oltp_update_index", "oltp_update_non_index",
        "oltp_insert", "oltp_delete")
BULK_INSERT = "bulk_insert"
# After these the table is no longer what the next run should find: each run gets a fresh one.
_FRESH_TABLE = {"oltp_delete"}


class Sysbench:
    """Workloads in a database per engine."""

    def __init__(self, server, threads, table_size, rand_type=""):
        self._server, self._threads, self._table_size = server, threads, table_size
        self._scripts = server.tree.sysbench_scripts()
        self._program = server.tree.program("sysbench")
        self._rand_type = rand_type
        self._log = server.folder / "sysbench.log"

    def database(self, engine, workload=""):
        """bulk_insert has one of its own: its tables have the same names as the OLTP ones."""
        return f"bulk_{engine}" if workload == BULK_INSERT else f"sysbench_{engine}"

    def prepare(self, engine):
        """A fresh table of the wanted size with fresh statistics."""
        name = self.database(engine)
        with self._server.client(timeout_s=600) as client:
            client.execute(f"DROP DATABASE IF EXISTS {name}")
            client.execute(f"CREATE DATABASE {name}")
        self._call(engine, "oltp_common", "prepare", threads=1, time_s=0)
        with self._server.client(timeout_s=600) as client:
            client.execute(f"ANALYZE TABLE {name}.sbtest1")

    def run(self, engine, workload, time_s):
        """Statements a second; of bulk_insert rows."""
        if workload == BULK_INSERT:
            self._call(engine, workload, "cleanup")
            self._call(engine, workload, "prepare")
        elif workload in _FRESH_TABLE or not self._has_table(engine):
            self.prepare(engine)
        output = self._call(engine, workload, "run", time_s=time_s)
        if workload == BULK_INSERT:
            self._call(engine, workload, "cleanup")
        return _rate(output, workload)

    def _has_table(self, engine):
        with self._server.client() as client:
            try:
                return client.value("SELECT COUNT(*) FROM information_schema.tables WHERE "
                                    f"table_schema = '{self.database(engine)}' "
                                    "AND table_name = 'sbtest1'") == 1
            except MysqlError:
                return False

    def _call(self, engine, workload, command, threads=None, time_s=0):
        arguments = [str(self._program), str(self._scripts / f"{workload}.lua"),
                     f"--mysql-socket={self._server.socket}", "--mysql-user=root",
                     f"--mysql-db={self.database(engine, workload)}",
                     f"--threads={threads or self._threads}", "--events=0", f"--time={time_s}"]
        if self._rand_type:
            arguments.append(f"--rand-type={self._rand_type}")
        if workload != BULK_INSERT:
            arguments += ["--tables=1", f"--table-size={self._table_size}",
                          f"--mysql-storage-engine={engine}"]
        else:
            self._make_default(engine)
        environment = dict(os.environ, LUA_PATH=f"{self._scripts}/?.lua;;")
        environment.update(client_environment(self._program))
        limit_s = 900 + 4 * time_s
        try:
            result = subprocess.run([*arguments, command], env=environment, text=True,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise UserError(f"sysbench {workload} {command} on {engine} hung for {limit_s} s")
        with open(self._log, "a") as log:
            log.write(f"--- {engine} {workload} {command}\n{result.stdout}\n")
        if result.returncode != 0:
            reasons = [line for line in result.stdout.splitlines() if "FATAL" in line]
            raise UserError(f"sysbench {workload} {command} on {engine} failed: "
                            + (reasons[0] if reasons else result.stdout.strip()[-300:]))
        return result.stdout

    def _make_default(self, engine):
        """bulk_insert names no engine in its CREATE TABLE: it gets the default one."""
        with self._server.client() as client:
            client.execute(f"CREATE DATABASE IF NOT EXISTS {self.database(engine, BULK_INSERT)}")
            client.execute(f"SET GLOBAL default_storage_engine = {engine}")


def client_environment(program):
    """The unpacked client library looks for its authentication plugins beside itself."""
    for folder in sorted(program.parent.parent.glob("lib/*/libmariadb3/plugin")):
        return {"MARIADB_PLUGIN_DIR": str(folder)}
    return {}


def _rate(report, workload):
    queries = re.search(r"queries:\s+(\d+)\s", report)
    events = re.search(r"total number of events:\s+(\d+)", report)
    total = re.search(r"total time:\s+([\d.]+)s", report)
    if not (queries and events and total):
        raise UserError(f"sysbench {workload} printed no report:\n{report[-400:]}")
    count = int((events if workload == BULK_INSERT else queries).group(1))
    if not count:
        raise UserError(f"sysbench {workload} did nothing within its time")
    return count / float(total.group(1))
