# SPDX-License-Identifier: GPL-2.0-only
"""HAProxy in front of the servers: one port leads to the source, one to the replicas in turns. A
change of roles ends the connections that lead to the wrong server."""
import os
import shutil
import signal
import subprocess
from pathlib import Path

from ..bench.private_package import provide
from ..paths import UserError

_CONFIGURATION = """global
    maxconn 4096
defaults
    mode tcp
    timeout connect 2s
    timeout client 8h
    timeout server 8h
listen writes
    bind 127.0.0.1:{write_port}
    server source 127.0.0.1:{source_port}
listen reads
    bind 127.0.0.1:{read_port}
    balance leastconn
{replicas}
"""


class Front:
    def __init__(self, cluster):
        self._cluster = cluster
        self._configuration = cluster.folder / "haproxy.cfg"
        self._pid_file = cluster.folder / "haproxy.pid"

    def pid(self):
        """Of the running one, else 0."""
        try:
            pid = int(self._pid_file.read_text().split()[0])
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError, IndexError):
            return 0
        return pid if str(self._configuration).encode() in command else 0

    def turn(self):
        """Starts it, or makes the running one lead to the servers that have the roles now. Nothing
        in a cluster without one."""
        state = self._cluster.state
        if not state["front"]:
            return
        replicas = "\n".join(f"    server replica{number} 127.0.0.1:{state['ports'][number]}"
                             for number in self._cluster.replicas())
        self._configuration.write_text(_CONFIGURATION.format(
            write_port=state["write_port"], read_port=state["read_port"],
            source_port=state["ports"][self._cluster.source], replicas=replicas))
        command = [str(_program()), "-D", "-f", str(self._configuration), "-p",
                   str(self._pid_file)]
        pid = self.pid()
        if pid:
            command += ["-st", str(pid)]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            raise UserError(f"haproxy did not start: {result.stderr.strip()[-400:]}")

    def stop(self):
        pid = self.pid()
        if pid:
            os.kill(pid, signal.SIGTERM)


def _program():
    """The machine's own, or Debian's, fetched."""
    own = shutil.which("haproxy")
    return Path(own) if own else provide("haproxy", ["haproxy"]) / "usr/sbin/haproxy"
