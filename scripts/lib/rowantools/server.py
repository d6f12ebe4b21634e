# SPDX-License-Identifier: GPL-2.0-only
"""A private mysqld instance in a folder of its own: unix socket only, no fixed ports.

Folder layout: data/ (MySQL's data directory), plugins/ (links to the packaged plugins and to
ha_rowan.so), error.log, server.json (process id and options of the last start), mysqld.sock.
Several instances can run beside each other. An instance is used by one thread of control.
"""
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from .client import Client, ConnectionLost, MysqlError
from .mysql_tree import find_tree
from .paths import PLUGIN_LIBRARY, UserError, plugin_path

START_LIMIT_S = 300
STOP_LIMIT_S = 300
_SOCKET_PATH_BYTES_MAX = 100  # the kernel's limit is 107
ER_UDF_EXISTS = 1125
ER_PLUGIN_INSTALLED = 1968


class Server:
    """One instance. `options` are mysqld arguments for every start of this object."""

    def __init__(self, folder, tree=None, plugin=None, options=(), binlog=False,
                 buffer_pool="256M", port=None, install_plugin=True, option_file=None):
        self.folder = Path(folder).resolve()
        self.tree = tree or find_tree()
        self.plugin = Path(plugin) if plugin else plugin_path()
        self.options = list(options)
        self.binlog, self.buffer_pool, self.port = binlog, buffer_pool, port
        self.install_plugin = install_plugin
        # A my.cnf; without one the server reads none, and no variables set by SET PERSIST either.
        self.option_file = option_file
        self.data = self.folder / "data"
        self.error_log = self.folder / "error.log"
        self.socket = self._socket_path()
        self.process = None

    # --- life cycle ---

    def initialize(self):
        """Creates the data directory if there is none; complete or absent, never half."""
        if self.data.is_dir():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = self.folder / "data.partial"
        shutil.rmtree(partial, ignore_errors=True)
        log = self.folder / "initialize.log"
        command = [str(self.tree.mysqld), "--no-defaults", f"--basedir={self.tree.basedir}",
                   f"--datadir={partial}", "--secure-file-priv=", "--initialize-insecure",
                   f"--log-error={log}", "--innodb-redo-log-capacity=16M", *_run_as()]
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if result.returncode != 0:
            raise UserError(f"mysqld --initialize-insecure failed, see {log}:\n{_tail(log)}")
        partial.rename(self.data)

    def start(self, extra_options=(), wait=True):
        """Starts mysqld and, unless told otherwise, waits until it answers."""
        if self.is_running():
            raise UserError(f"a server is already running in {self.folder}")
        self.initialize()
        self._link_plugins()
        command = self.command(extra_options)
        self._clear_socket()
        self._log_start = self.error_log.stat().st_size if self.error_log.exists() else 0
        with open(self.folder / "stderr.log", "ab") as stderr:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stderr,
                                            stderr=stderr, start_new_session=True,
                                            cwd=str(self.folder))
        state = {"pid": self.process.pid, "command": command, "socket": str(self.socket)}
        (self.folder / "server.json").write_text(json.dumps(state, indent=1))
        if wait:
            self.wait_until_ready()
            if self.install_plugin:
                self.install_rowan()
        return self

    def wait_until_ready(self, limit_s=START_LIMIT_S):
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            if not self.is_running():
                raise UserError(f"mysqld ended during its start, see {self.error_log}:\n"
                                + self.messages()[-3000:])
            try:
                with Client(self.socket, timeout_s=10):
                    return
            except (ConnectionLost, MysqlError):
                time.sleep(0.05)
        raise UserError(f"mysqld did not answer within {limit_s} s, see {self.error_log}")

    def install_rowan(self):
        """INSTALL PLUGIN, which MySQL remembers; nothing if it is installed already."""
        with Client(self.socket) as client:
            if client.value("SELECT COUNT(*) FROM information_schema.plugins "
                            "WHERE plugin_name = 'ROWAN' AND plugin_status = 'ACTIVE'"):
                return
            if not self.plugin.is_file():
                raise UserError(f"{self.plugin} does not exist; build it first (scripts/test "
                                "--build-only)")
            try:
                client.execute(f"INSTALL PLUGIN rowan SONAME '{PLUGIN_LIBRARY}'")
            except MysqlError as error:
                if error.code not in (ER_UDF_EXISTS, ER_PLUGIN_INSTALLED):
                    raise UserError(f"INSTALL PLUGIN failed: {error}; error log:\n"
                                    + self.messages()[-2000:])
                raise UserError("the plugin is registered but did not start, see "
                                f"{self.error_log}:\n" + self.messages()[-2000:])

    def stop(self, limit_s=STOP_LIMIT_S):
        """An orderly shutdown; True if it ended within the limit, killed and False if not."""
        pid = self.pid()
        if not pid:
            return True
        os.kill(pid, signal.SIGTERM)
        if self._wait_gone(limit_s):
            return True
        self.kill()
        return False

    def kill(self):
        """SIGKILL: a crash as far as the server is concerned."""
        pid = self.pid()
        if pid:
            os.kill(pid, signal.SIGKILL)
            self._wait_gone(STOP_LIMIT_S)

    def restart(self, extra_options=()):
        self.stop()
        return self.start(extra_options)

    def destroy(self):
        """Kills the server and removes its folder."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- questions ---

    def pid(self):
        """The process id if this instance's mysqld runs, else 0."""
        if self.process is not None:
            return self.process.pid if self.process.poll() is None else 0
        try:
            pid = json.loads((self.folder / "server.json").read_text())["pid"]
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError, KeyError):
            return 0
        return pid if f"--datadir={self.data}".encode() in command.split(b"\0") else 0

    def is_running(self):
        return self.pid() != 0

    def has_died(self, limit_s=30):
        """Whether it is gone: a connection that is lost for that may end a moment before."""
        return self._wait_gone(limit_s)

    def client(self, database="", timeout_s=180.0):
        return Client(self.socket, database=database, timeout_s=timeout_s)

    def messages(self):
        """The error log since the last start of this object."""
        if not self.error_log.exists():
            return ""
        with open(self.error_log, "rb") as stream:
            stream.seek(getattr(self, "_log_start", 0))
            return stream.read().decode("utf-8", "replace")

    def cpu_seconds(self):
        """User plus system time mysqld has used."""
        fields = Path(f"/proc/{self.pid()}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def command(self, extra_options=()):
        """The full mysqld command line of a start."""
        binlog = ["--log-bin=binlog", "--server-id=1"] if self.binlog else ["--disable-log-bin"]
        network = [f"--port={self.port}", "--bind-address=127.0.0.1"] if self.port else \
            ["--skip-networking"]
        defaults = f"--defaults-file={self.option_file}" if self.option_file else "--no-defaults"
        return [*self._launcher(), str(self.tree.mysqld), defaults,
                f"--basedir={self.tree.basedir}",
                f"--datadir={self.data}", f"--socket={self.socket}",
                f"--pid-file={self.folder / 'mysqld.pid'}", f"--log-error={self.error_log}",
                f"--plugin-dir={self.folder / 'plugins'}", "--secure-file-priv=", "--mysqlx=OFF",
                f"--innodb-buffer-pool-size={self.buffer_pool}",
                f"--loose-rowan-buffer-pool-size={self.buffer_pool}",
                *binlog, *network, *_run_as(), *self.options, *extra_options]

    # --- details ---

    def _launcher(self):
        """ROWAN_SERVER_PRELOAD: libraries to load first, for a plugin built with a sanitizer. They
        are given to the server's own loader, because the server may bring its own libc."""
        libraries = os.environ.get("ROWAN_SERVER_PRELOAD")
        if not libraries:
            return []
        loaders = sorted(self.tree.prefix.glob("usr/lib/*/ld-linux-*.so.*"))
        if not loaders:
            raise UserError("ROWAN_SERVER_PRELOAD needs a server that brings its own loader")
        return [str(loaders[0]), "--preload", libraries]

    def _socket_path(self):
        path = self.folder / "mysqld.sock"
        if len(os.fsencode(path)) <= _SOCKET_PATH_BYTES_MAX:
            return path
        # Too long for the kernel: a name of fixed length in the temporary folder, one per instance.
        import hashlib
        name = hashlib.sha1(os.fsencode(self.folder)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"rowan-{os.getuid()}-{name}.sock"

    def _clear_socket(self):
        for path in (self.socket, Path(str(self.socket) + ".lock")):
            try:
                path.unlink()
            except FileNotFoundError:
                pass

    def _link_plugins(self):
        """A plugin folder of our own: what the server came with, and ha_rowan.so."""
        folder = self.folder / "plugins"
        folder.mkdir(parents=True, exist_ok=True)
        packaged = self.tree.packaged_plugins()
        for path in sorted(packaged.glob("*.so")) if packaged else []:
            if path.name != PLUGIN_LIBRARY:
                _link(folder / path.name, path)
        if self.plugin.is_file():
            _link(folder / PLUGIN_LIBRARY, self.plugin)

    def _wait_gone(self, limit_s):
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            if not self.is_running():
                return True
            time.sleep(0.02)
        return False


def free_port():
    """One below those that the system gives to connections: none of them takes it before the server
    does, or while that is killed and started again."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):  # somebody has it
            probe.bind(("127.0.0.1", port))
            return port


def _link(name, target):
    target = Path(target).resolve()
    if name.is_symlink() and os.readlink(name) == str(target):
        return
    if name.is_symlink() or name.exists():
        name.unlink()
    name.symlink_to(target)


def _run_as():
    return ["--user=root"] if os.getuid() == 0 else []


def _tail(path, lines=20):
    try:
        return "\n".join(Path(path).read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""
