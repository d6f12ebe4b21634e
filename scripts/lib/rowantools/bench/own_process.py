# SPDX-License-Identifier: GPL-2.0-only
"""A server process of the driver other than MySQL's: start, wait, stop."""
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from ..paths import UserError
from .sync_delay import environment as delay_environment

_START_LIMIT_S = 120
_END_LIMIT_S = 30


class OwnProcess:
    """Subclasses say how it is initialized, called, and whether it answers."""
    user = "root"
    port = 0
    end_signal = signal.SIGKILL   # its data go with it

    def __init__(self, folder, conditions):
        self.folder = Path(folder)
        self.conditions = conditions
        self.data = self.folder / "data"
        self.log = self.folder / "server.log"
        self.engines = set()   # that targets need
        self._process = None

    def start(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.initialize()
        environment = dict(os.environ, **delay_environment(self.conditions.delay_us,
                                                           self.conditions.counts))
        with open(self.log, "ab") as stream:
            self._process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL,
                                             stdout=stream, stderr=stream, cwd=self.folder,
                                             start_new_session=True, env=environment,
                                             **self.popen_options())
        deadline = time.monotonic() + _START_LIMIT_S
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise UserError(f"{self.command()[0]} did not start:\n"
                                + "\n".join(self.messages().splitlines()[-12:]))
            time.sleep(0.1)

    def popen_options(self):
        return {}

    def pid(self):
        return self._process.pid if self._process and self._process.poll() is None else 0

    def messages(self):
        return self.log.read_text(errors="replace")

    def cpu_seconds(self):
        """User plus system time, with that of children that have ended."""
        fields = Path(f"/proc/{self.pid()}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")

    def destroy(self):
        if self.pid():
            self._process.send_signal(self.end_signal)
            try:
                self._process.wait(_END_LIMIT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def call(command, what, **options):
    result = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, **options)
    if result.returncode != 0:
        raise UserError(f"{what} failed: {(result.stderr or result.stdout).strip()[-600:]}")
    return result.stdout
