# SPDX-License-Identifier: GPL-2.0-only
"""HAProxy in front of the servers."""
import shutil
import subprocess
from pathlib import Path

from ..bench.private_package import provide
from ..paths import UserError
from .front import Front

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


class HaProxy(Front):
    title, name = "HAProxy", "haproxy"

    def turn(self):
        state = self.cluster.state
        replicas = "\n".join(f"    server replica{number} 127.0.0.1:{state['ports'][number]}"
                             for number in self.cluster.replicas())
        self.configuration.write_text(_CONFIGURATION.format(
            write_port=state["write_port"], read_port=state["read_port"],
            source_port=state["ports"][self.cluster.source], replicas=replicas))
        command = [str(_program()), "-D", "-f", str(self.configuration), "-p", str(self.pid_file)]
        pid = self.pid()
        if pid:
            command += ["-st", str(pid)]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            raise UserError(f"haproxy did not start: {result.stderr.strip()[-400:]}")


def _program():
    """The machine's own, or Debian's, fetched."""
    own = shutil.which("haproxy")
    return Path(own) if own else provide("haproxy", ["haproxy"]) / "usr/sbin/haproxy"
