# SPDX-License-Identifier: GPL-2.0-only
"""A MariaDB server of the driver: the machine's own programs or, without them, Debian's packages
unpacked into .mysql/mariadb."""
import os
import re
import subprocess
from pathlib import Path

from ..client import Client, ConnectionLost, MysqlError
from ..paths import UserError
from .own_process import OwnProcess
from .private_package import provide

_PACKAGES = ["mariadb-server-core", "mariadb-plugin-rocksdb"]
_CHANGED_SHARE = 4   # of the pool: at 512 MiB what RocksDB's two column families take by default
_PLUGIN_FOLDERS = ("usr/lib/mysql/plugin", "lib/mysql/plugin")


class MariadbServer(OwnProcess):
    def __init__(self, folder, conditions):
        super().__init__(folder, conditions)
        self.prefix = _prefix()
        self.socket = self.folder / "mariadb.sock"

    def initialize(self):
        share = next(path for path in (self.prefix / "usr/share/mysql",
                                       self.prefix / "usr/share/mariadb")
                     if (path / "mariadb_system_tables.sql").exists()
                     or (path / "mysql_system_tables.sql").exists())
        self.data.mkdir()
        names = [f"{family}_{part}.sql" for part in ("system_tables", "performance_tables",
                                                     "system_tables_data")
                 for family in ("mariadb", "mysql")]
        statements = ["CREATE DATABASE IF NOT EXISTS mysql;", "USE mysql;",
                      "SET @auth_root_socket = NULL;"]
        statements += [(share / name).read_text() for name in names if (share / name).exists()]
        command = [*self._program(), f"--datadir={self.data}", "--bootstrap", "--skip-networking",
                   f"--lc-messages-dir={share}", "--innodb-log-file-size=16M"]
        _bootstrap(command, "\n".join(statements))

    def command(self):
        conditions, durable = self.conditions, int(self.conditions.durable)
        binlog = [f"--log-bin={self.data}/binlog", "--server-id=1",
                  f"--sync-binlog={durable}"] if conditions.binlog else ["--skip-log-bin"]
        rocksdb = rocksdb_options(conditions) if "rocksdb" in self.engines else []
        return [*self._program(), *rocksdb, f"--datadir={self.data}", f"--socket={self.socket}",
                f"--pid-file={self.folder}/mariadb.pid", "--skip-networking",
                f"--innodb-buffer-pool-size={conditions.buffer_pool_mib}M",
                f"--innodb-log-file-size={conditions.redo_mib}M", "--innodb-doublewrite=ON",
                f"--innodb-flush-log-at-trx-commit={durable or 2}",
                "--skip-performance-schema", "--max-connections=1200", "--thread-cache-size=1024",
                "--max-prepared-stmt-count=1000000", "--max-allowed-packet=64M", *binlog,
                *conditions.options.get("mariadb", ())]

    def answers(self):
        try:
            with Client(self.socket, timeout_s=10):
                return True
        except (ConnectionLost, MysqlError, OSError):
            return False

    def _program(self):
        plugins = [self.prefix / name for name in _PLUGIN_FOLDERS
                   if (self.prefix / name).is_dir()]
        own = ["--user=root"] if os.getuid() == 0 else []
        return [str(_find(self.prefix)), "--no-defaults", f"--basedir={self.prefix / 'usr'}",
                *[f"--plugin-dir={path}" for path in plugins[:1]], *own]


def rocksdb_options(conditions):
    """The plugin and the same promise as other engines give. Changed rows lie in memory of their
    own, which counts as part of the pool; `size` includes them at once."""
    memory, durable = conditions.buffer_pool_mib, int(conditions.durable)
    changed = memory // _CHANGED_SHARE
    # It is loaded at the start: INSTALL SONAME ends the server of some versions.
    return ["--plugin-load-add=ha_rocksdb", f"--rocksdb-flush-log-at-trx-commit={durable or 2}",
            f"--rocksdb-block-cache-size={memory - changed}M",
            f"--rocksdb-db-write-buffer-size={changed}M",
            f"--rocksdb-max-total-wal-size={conditions.redo_mib}M",
            "--rocksdb-force-compute-memtable-stats-cachetime=0"]


def _bootstrap(command, statements):
    result = subprocess.run(command, input=statements, capture_output=True, text=True)
    errors = re.findall(r"^.*\[ERROR\].*$", result.stderr, re.MULTILINE)
    if result.returncode != 0:
        raise UserError("initializing MariaDB failed: " + (errors or [result.stderr[-400:]])[0])


def _find(prefix):
    for name in ("usr/sbin/mariadbd", "sbin/mariadbd", "usr/sbin/mysqld"):
        if (prefix / name).is_file():
            return prefix / name
    return None


def _prefix():
    """Where MariaDB lies."""
    machine = Path("/")
    if (machine / "usr/sbin/mariadbd").is_file():
        return machine
    return provide("mariadb", _PACKAGES)
