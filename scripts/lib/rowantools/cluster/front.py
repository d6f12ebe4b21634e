# SPDX-License-Identifier: GPL-2.0-only
"""A program in front of the servers: one port leads to the source, one to the replicas in turns. A
change of roles ends the connections that lead to the wrong server."""
import os
import signal
import time
from pathlib import Path

from ..paths import UserError

_STOP_LIMIT_S = 60


class Front:
    """Of a cluster whose clients go to the servers' own ports, and what the others share."""

    title = name = ""

    def __init__(self, cluster):
        self.cluster = cluster
        self.configuration = cluster.folder / f"{self.name}.cfg"
        self.pid_file = cluster.folder / f"{self.name}.pid"

    def pid(self):
        """Of the running one, else 0."""
        try:
            pid = int(self.pid_file.read_text().split()[0])
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError, IndexError):
            return 0
        return pid if str(self.configuration).encode() in command else 0

    def turn(self):
        """Starts it, or makes the running one lead to the servers that have the roles now."""

    def stop(self):
        """Asks it to end and waits until it has."""
        pid = self.pid()
        if not pid:
            return
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + _STOP_LIMIT_S
        while self.pid():
            if time.monotonic() > deadline:
                raise UserError(f"{self.title}, process {pid}, does not end")
            reap(pid)
            time.sleep(0.02)


def reap(pid):
    """A child of this process stays a zombie until it is waited for."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass
