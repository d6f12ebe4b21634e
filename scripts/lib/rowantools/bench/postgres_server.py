# SPDX-License-Identifier: GPL-2.0-only
"""A PostgreSQL server of the driver: the machine's own programs or, without them, Debian's package
unpacked into .mysql/postgres. PostgreSQL refuses to run as root and is then started as nobody."""
import os
import pwd
import shutil
import signal
from pathlib import Path

from ..paths import UserError
from .own_process import OwnProcess, call
from .private_package import provide

_PACKAGES = ["postgresql-18"]
_SOCKET_PORT = 5432  # only part of the socket's name


class PostgresServer(OwnProcess):
    user = "bench"
    port = _SOCKET_PORT
    end_signal = signal.SIGQUIT   # "immediate": the first process ends the others

    def __init__(self, folder, conditions):
        super().__init__(folder, conditions)
        self._programs = _programs()
        self.socket = self.folder  # a folder, as the client library wants it

    def initialize(self):
        self.data.mkdir()
        if os.getuid() == 0:
            owner = pwd.getpwnam("nobody")
            for path in (self.folder, self.data):
                shutil.chown(path, owner.pw_uid, owner.pw_gid)
        call([self._programs / "initdb", "-D", self.data, "-U", self.user, "--auth=trust",
              "--encoding=UTF8", "--locale=C", "--no-sync"],
             "initdb" if os.getuid() else "initdb (as nobody: PostgreSQL refuses root)",
             cwd=self.folder, **self.popen_options())

    def command(self):
        conditions = self.conditions
        settings = {"listen_addresses": "", "unix_socket_directories": self.folder,
                    "port": _SOCKET_PORT, "max_connections": 1200,
                    "shared_buffers": f"{conditions.buffer_pool_mib}MB",
                    "max_wal_size": f"{conditions.redo_mib}MB",
                    "synchronous_commit": "on" if conditions.durable else "off",
                    "fsync": "on", "full_page_writes": "on", "checkpoint_timeout": "30min"}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        words += conditions.options.get("postgres", ())
        return [str(self._programs / "postgres"), "-D", str(self.data), *words]

    def popen_options(self):
        if os.getuid() != 0:
            return {}
        owner = pwd.getpwnam("nobody")
        return {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}

    def answers(self):
        path = self.folder / f".s.PGSQL.{_SOCKET_PORT}"
        if not path.exists():
            return False
        import pg8000.dbapi
        try:
            pg8000.dbapi.connect(user=self.user, unix_sock=str(path), database="postgres",
                                 timeout=10).close()
            return True
        except Exception:  # still starting: whatever the library makes of it
            return False


def _programs():
    """The folder of initdb and postgres, the machine's newest one if it has any."""
    found = _newest(Path("/usr/lib/postgresql"))
    if found is None:
        found = _newest(provide("postgres", _PACKAGES) / "usr/lib/postgresql")
    if found is None:
        raise UserError("the fetched PostgreSQL has no initdb")
    return found


def _newest(folder):
    versions = [path for path in folder.glob("*/bin") if (path / "initdb").is_file()
                and (path / "postgres").is_file()]
    return max(versions, key=lambda path: float(path.parent.name), default=None)
