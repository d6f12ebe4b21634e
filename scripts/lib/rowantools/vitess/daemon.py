# SPDX-License-Identifier: GPL-2.0-only
"""A program in the background: its process id and its log in a folder of its own."""
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from ..paths import UserError

_START_LIMIT_S = 120
_STOP_LIMIT_S = 60
_POLL_S = 0.1
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Daemon:
    def __init__(self, name, folder, command, health_url, environment=()):
        """It runs when `health_url` answers."""
        self.name, self.folder, self._command = name, Path(folder), [str(c) for c in command]
        self._health_url, self._environment = health_url, dict(environment)
        self.log = self.folder / f"{name}.log"
        self._pid_file = self.folder / f"{name}.pid"
        self._process = None

    def pid(self):
        """Of the running one, else 0."""
        try:
            pid = int(self._pid_file.read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return 0
        words = command.decode().split("\0")[:-1]
        return pid if words[-len(self._command):] == self._command else 0

    def start(self):
        if self.pid():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                [*_as_a_user(), *self._command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, cwd=str(self.folder),
                env={**os.environ, **self._environment})
        self._pid_file.write_text(str(self._process.pid))

    def wait_until_ready(self):
        deadline = time.monotonic() + _START_LIMIT_S
        while not self._answers():
            if self._has_ended() or time.monotonic() > deadline:
                tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-8:])
                raise UserError(f"{self.name} did not start, see {self.log}:\n{tail}")
            time.sleep(_POLL_S)

    def _has_ended(self):
        """A process that becomes another program has no command line for a moment."""
        return self._process.poll() is not None if self._process else not self.pid()

    def _answers(self):
        try:
            with _DIRECT.open(self._health_url, timeout=5):
                return True
        except urllib.error.HTTPError:
            return True  # an error, but from it
        except OSError:
            return False

    def stop(self):
        """Asks it to end; kills it if it does not."""
        self._end(signal.SIGTERM)
        if self.pid():
            self.kill()

    def kill(self):
        self._end(signal.SIGKILL)

    def _end(self, number):
        pid = self.pid()
        if not pid:
            return
        os.kill(pid, number)
        deadline = time.monotonic() + _STOP_LIMIT_S
        while self.pid() and time.monotonic() < deadline:
            _reap(pid)
            time.sleep(_POLL_S)


def _as_a_user():
    """Vitess refuses to be root: there it runs in a namespace in which it is not called so."""
    return ["unshare", "--user", "--map-user=1", "--map-group=1"] if os.getuid() == 0 else []


def _reap(pid):
    """A child of this process stays a zombie until it is waited for."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass
