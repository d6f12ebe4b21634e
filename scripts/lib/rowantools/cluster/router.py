# SPDX-License-Identifier: GPL-2.0-only
"""MySQL Router in front of the servers. It reads its routes when it starts: to lead elsewhere it is
started anew, which ends its connections."""
import os
import socket
import subprocess
import time

from ..bench.private_package import provide
from ..paths import UserError
from .front import Front

_START_LIMIT_S = 120
_CONFIGURATION = """[DEFAULT]
plugin_folder = {root}/usr/lib/mysqlrouter/plugin
logging_folder = {folder}
runtime_folder = {folder}
data_folder = {folder}
pid_file = {pid_file}
[logger]
level = INFO
filename = router.log
[routing:writes]
bind_address = 127.0.0.1
bind_port = {write_port}
destinations = 127.0.0.1:{source_port}
routing_strategy = first-available
protocol = classic
client_ssl_mode = PASSTHROUGH
server_ssl_mode = AS_CLIENT
[routing:reads]
bind_address = 127.0.0.1
bind_port = {read_port}
destinations = {replicas}
routing_strategy = round-robin
protocol = classic
client_ssl_mode = PASSTHROUGH
server_ssl_mode = AS_CLIENT
"""


class Router(Front):
    title, name = "MySQL Router", "router"

    def turn(self):
        self.stop()
        self.pid_file.unlink(missing_ok=True)  # of one that was killed: it would not start
        root, cluster = provide("mysql-router", ["mysql-router"]), self.cluster
        state = cluster.state
        self.configuration.write_text(_CONFIGURATION.format(
            root=root, folder=cluster.folder, pid_file=self.pid_file,
            write_port=state["write_port"], read_port=state["read_port"],
            source_port=state["ports"][cluster.source],
            replicas=",".join(f"127.0.0.1:{state['ports'][number]}"
                              for number in cluster.replicas())))
        libraries = [root / "usr/lib/mysql-router", *root.glob("usr/lib/*-linux-gnu")]
        with open(cluster.folder / "router.err", "wb") as errors:
            process = subprocess.Popen(
                [str(root / "usr/bin/mysqlrouter"), "-c", str(self.configuration)],
                stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, start_new_session=True,
                env={**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, libraries))})
        deadline = time.monotonic() + _START_LIMIT_S
        while not all(_listens(state[port]) for port in ("write_port", "read_port")):
            if process.poll() is not None or time.monotonic() > deadline:
                raise UserError(f"MySQL Router did not start, see {cluster.folder}/router.log:\n"
                                + (cluster.folder / "router.err").read_text()[-400:])
            time.sleep(0.05)


def _listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
