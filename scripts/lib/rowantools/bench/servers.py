# SPDX-License-Identifier: GPL-2.0-only
"""The servers that the driver starts: one for all targets of a kind, equal memory, redo and
durability for all. They listen on unix sockets only, in a folder that goes with them."""
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from ..mysql_tree import find_tree
from ..paths import UserError
from ..server import Server
from .mariadb_server import MariadbServer
from .postgres_server import PostgresServer
from .sync_delay import environment as delay_environment


@dataclass
class Conditions:
    """What all servers of one measurement have in common."""
    buffer_pool_mib: int = 512
    redo_mib: int = 1024
    binlog: bool = False
    durable: bool = True
    delay_us: int = 0          # added to each sync of log and data
    counts: Path = None        # a file in which syncs and writes are counted
    folder: Path = None        # on the disk to measure; a temporary one without it
    options: dict = field(default_factory=dict)   # kind: further options of the server
    launcher: list = field(default_factory=list)  # words before the command of the private MySQL


class Servers:
    """Started on demand, stopped together. Used as a context."""

    def __init__(self, conditions, targets=()):
        self._conditions = conditions
        self._engines = {target.engine for target in targets if target.own}
        self._running = {}
        self.folder = None

    def __enter__(self):
        parent = self._conditions.folder
        try:
            if parent:
                parent.mkdir(parents=True, exist_ok=True)
            self.folder = Path(tempfile.mkdtemp(prefix="bench-", dir=parent))
        except OSError as error:
            raise UserError(f"{parent}: no folder for servers can be made there: {error.strerror}")
        self.folder.chmod(0o755)  # PostgreSQL's user looks into it
        return self

    def __exit__(self, *ignored):
        for server in self._running.values():
            server.destroy()
        self._running.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    def attach(self, target):
        """Starts what the target needs and writes into it how it is reached."""
        if not target.own:
            return
        if target.kind not in self._running:
            server = _MAKERS[target.kind](self.folder / target.kind, self._conditions)
            server.engines = self._engines
            self._running[target.kind] = server   # before it starts, which may be interrupted
            server.start()
        server = self._running[target.kind]
        target.server, target.pid = server, server.pid()
        target.socket, target.user = str(server.socket), server.user
        target.port = server.port or target.port


class MysqlServer(Server):
    """The private MySQL, with Rowan installed."""
    user = "root"

    def __init__(self, folder, conditions):
        super().__init__(folder, find_tree(), options=mysql_options(conditions),
                         binlog=conditions.binlog,
                         buffer_pool=f"{conditions.buffer_pool_mib}M")
        self._environment = delay_environment(conditions.delay_us, conditions.counts)
        self._launcher_words = conditions.launcher

    def command(self, extra_options=()):
        settings = [f"{name}={value}" for name, value in self._environment.items()]
        return [*(["env", *settings] if settings else []), *self._launcher_words,
                *super().command(extra_options)]


def mysql_options(conditions):
    """The same promise for both engines."""
    durable = int(conditions.durable)
    # The method that Rowan finds by itself may be io_uring, which no delay reaches.
    delayed = ["--loose-rowan-log-sync-method=fdatasync"] if conditions.delay_us else []
    return [*delayed, f"--innodb-flush-log-at-trx-commit={durable or 2}", "--innodb-doublewrite=ON",
            f"--innodb-redo-log-capacity={conditions.redo_mib}M",
            f"--loose-rowan-flush-log-at-trx-commit={durable or 2}", "--loose-rowan-doublewrite=on",
            f"--loose-rowan-redo-log-capacity={conditions.redo_mib}M",
            f"--sync-binlog={durable}", "--loose-mysqlx-cache-cleaner=OFF",
            "--performance-schema=OFF", "--max-connections=1200", "--thread-cache-size=1024",
            "--max-prepared-stmt-count=1000000", "--max-allowed-packet=64M",
            *conditions.options.get("mysql", ())]


_MAKERS = {"mysql": MysqlServer, "mariadb": MariadbServer, "postgres": PostgresServer}
KINDS = tuple(_MAKERS)
