# SPDX-License-Identifier: GPL-2.0-only
"""A Vitess of this machine: etcd, tablets, VTGate. A cluster is a folder; vitess.json in it has
what it was made of. Who is the primary of a shard is known to Vitess alone.

Its keyspaces: `sharded`, of two shards at first, whose commits wait for a replica, and `plain`, of
one, for sequences and tables that are not spread.
"""
import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..client import Client, ConnectionLost, MysqlError
from ..mysql_tree import find_tree
from ..paths import UserError
from ..server import free_port
from .daemon import Daemon
from .programs import etcd, vitess
from .tablet import Tablet

SHARDED, PLAIN = "sharded", "plain"
_STATE = "vitess.json"
_FIRST_UID = 100
_SERVING_LIMIT_S = 120
_STARTED_AT_ONCE = 3
REPARENT_LIMIT = "--wait-replicas-timeout=120s"


class VitessCluster:
    cell = "local"

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self.state = json.loads((self.folder / _STATE).read_text()) if self.exists() else None

    def exists(self):
        return (self.folder / _STATE).is_file()

    def create(self, engine="rowan", replicas=2, buffer_pool="64M", server_options=(),
               tablet_options=()):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.state = {
            "engine": engine, "buffer_pool": buffer_pool,
            "server_options": list(server_options), "tablet_options": list(tablet_options),
            "etcd_port": 0, "etcd_peer_port": 0, "gate_port": 0, "gate_http_port": 0,
            "gate_grpc_port": 0, "control_http_port": 0, "control_port": 0, "tablets": []}
        for name in [name for name in self.state if name.endswith("_port")]:
            self.state[name] = self._port()
        self.add_shard(PLAIN, "0", 0)
        for shard in ("-80", "80-"):
            self.add_shard(SHARDED, shard, replicas)

    def _port(self):
        taken = {port for port in self.state.values() if isinstance(port, int)}
        taken |= {port for place in self.state["tablets"] for port in place.values()}
        while True:
            port = free_port()
            if port not in taken:
                return port

    def _save(self):
        temporary = self.folder / (_STATE + ".new")
        temporary.write_text(json.dumps(self.state, indent=1) + "\n")
        temporary.rename(self.folder / _STATE)

    # --- members ---

    def tablets(self, keyspace=None, shard=None):
        return [Tablet(self, place) for place in self.state["tablets"]
                if keyspace in (None, place["keyspace"]) and shard in (None, place["shard"])]

    def shards(self, keyspace):
        return sorted({place["shard"] for place in self.state["tablets"]
                       if place["keyspace"] == keyspace})

    def add_shard(self, keyspace, shard, replicas):
        """Tablets that are yet to be started."""
        for _ in range(replicas + 1):
            used = [place["uid"] for place in self.state["tablets"]]
            place = {"uid": max(used, default=_FIRST_UID - 1) + 1, "keyspace": keyspace,
                     "shard": shard, "acknowledged": replicas > 0}
            self.state["tablets"].append(place)
            for name in ("mysql_port", "port", "grpc_port"):
                place[name] = self._port()
        self._save()

    def forget_shard(self, keyspace, shard):
        """Of a shard that is no longer served: its tablets are stopped and go."""
        for tablet in self.tablets(keyspace, shard):
            tablet.stop()
        self.state["tablets"] = [place for place in self.state["tablets"]
                                 if (place["keyspace"], place["shard"]) != (keyspace, shard)]
        self._save()

    def topology_flags(self):
        return ["--topo_implementation=etcd2", "--topo_global_root=/vitess/global",
                f"--topo_global_server_address=127.0.0.1:{self.state['etcd_port']}"]

    def etcd(self):
        state = self.state
        url, peer = (f"http://127.0.0.1:{state[name]}" for name in ("etcd_port", "etcd_peer_port"))
        return Daemon("etcd", self.folder, [
            etcd(), "--data-dir", self.folder / "etcd", "--listen-client-urls", url,
            "--advertise-client-urls", url, "--listen-peer-urls", peer,
            "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"],
            url + "/version")

    def gate(self):
        state = self.state
        version = ".".join(str(part) for part in find_tree().server_version())
        return Daemon("vtgate", self.folder, [
            vitess() / "vtgate", *self.topology_flags(), "--config-file-not-found-handling=ignore",
            "--logtostderr", f"--cell={self.cell}", f"--cells_to_watch={self.cell}",
            "--tablet_types_to_wait=PRIMARY", f"--port={state['gate_http_port']}",
            f"--grpc_port={state['gate_grpc_port']}", "--bind-address=127.0.0.1",
            "--grpc_bind_address=127.0.0.1", f"--mysql_server_port={state['gate_port']}",
            "--mysql_server_bind_address=127.0.0.1", "--mysql_auth_server_impl=none",
            f"--mysql_server_version={version}", "--service_map=grpc-vtgateservice",
            "--transaction_mode=TWOPC", "--enable_buffer", "--vschema_ddl_authorized_users=%",
            "--tablet_refresh_interval=2s"],
            f"http://127.0.0.1:{state['gate_http_port']}/debug/health",
            {"VTDATAROOT": str(self.folder)})

    def controller(self):
        state = self.state
        return Daemon("vtctld", self.folder, [
            vitess() / "vtctld", *self.topology_flags(), "--config-file-not-found-handling=ignore",
            "--logtostderr", "--service_map=grpc-vtctl,grpc-vtctld",
            "--remote_operation_timeout=60s",
            f"--port={state['control_http_port']}", f"--grpc_port={state['control_port']}",
            "--bind-address=127.0.0.1", "--grpc_bind_address=127.0.0.1"],
            f"http://127.0.0.1:{state['control_http_port']}/debug/status",
            {"VTDATAROOT": str(self.folder)})

    # --- what Vitess is told ---

    def control(self, *arguments):
        """What vtctldclient prints that vtctld answers. UserError."""
        result = subprocess.run(
            [str(vitess() / "vtctldclient"), f"--server=127.0.0.1:{self.state['control_port']}",
             *map(str, arguments)],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=str(self.folder))
        if result.returncode:
            raise UserError(f"vtctldclient {' '.join(map(str, arguments))}: "
                            f"{(result.stderr or result.stdout).strip()[-1500:]}")
        return result.stdout

    def address(self):
        return ("127.0.0.1", self.state["gate_port"])

    def client(self, keyspace=""):
        """A session with VTGate."""
        return Client(self.address(), database=keyspace, user="rowan")

    def leaders(self):
        """The aliases of the tablets that Vitess has as primaries of their shards."""
        found = set()
        for keyspace in (PLAIN, SHARDED):
            told = json.loads(self.control("FindAllShardsInKeyspace", keyspace))
            for shard in told["shards"].values():
                alias = shard["shard"].get("primary_alias")
                if alias:
                    found.add(f"{alias['cell']}-{int(alias['uid']):010d}")
        return found

    def primary(self, keyspace, shard):
        leaders = self.leaders()
        for tablet in self.tablets(keyspace, shard):
            if tablet.alias in leaders:
                return tablet
        raise UserError(f"{keyspace}/{shard} has no primary")

    # --- life cycle ---

    def start(self, step):
        """All that is not running. `step` is told what is being started."""
        for daemon in (self.etcd(), self.controller()):
            step.update(detail=daemon.name)
            daemon.start()
            daemon.wait_until_ready()
        if self.cell not in self.control("GetCellInfoNames").split():
            self.control("AddCellInfo", f"--root=/vitess/{self.cell}", "--server-address",
                         f"127.0.0.1:{self.state['etcd_port']}", self.cell)
        known = self.control("GetKeyspaces")
        for keyspace, policy in ((PLAIN, "none"), (SHARDED, "semi_sync")):
            if f'"{keyspace}"' not in known:
                self.control("CreateKeyspace", f"--durability-policy={policy}", keyspace)
        self.start_tablets(self.tablets(), step)
        step.update(detail="vtgate")
        self.gate().start()
        self.gate().wait_until_ready()
        self.await_serving()

    def start_tablets(self, tablets, step):
        """Starts them; a shard that never had a primary gets its first tablet as that."""
        leaders = self.leaders()
        step.update(detail="mysqld and vttablet of the first tablet")
        tablets[0].start(tablets[0].alias in leaders)  # the others copy its empty data directory
        with ThreadPoolExecutor(_STARTED_AT_ONCE) as pool:
            started = pool.map(lambda tablet: tablet.start(tablet.alias in leaders), tablets[1:])
            for number, _ in enumerate(started, 2):
                step.update(detail=f"{number} of {len(tablets)} mysqlds and vttablets")
        for tablet in tablets:
            tablet.daemon.wait_until_ready()
        shards = sorted({(tablet.keyspace, tablet.shard) for tablet in tablets})
        for keyspace, shard in shards:
            members = self.tablets(keyspace, shard)
            if not any(tablet.alias in leaders for tablet in members):
                self.control("PlannedReparentShard", REPARENT_LIMIT,
                             f"--new-primary={members[0].alias}", f"{keyspace}/{shard}")

    def await_serving(self):
        """Until VTGate answers from every shard."""
        deadline = time.monotonic() + _SERVING_LIMIT_S
        while True:
            try:
                with self.client() as client:
                    for keyspace, shard in {(t.keyspace, t.shard) for t in self.tablets()}:
                        client.execute(f"USE `{keyspace}/{shard}`")
                        client.execute("SELECT 1 FROM dual")
                return
            except (MysqlError, ConnectionLost) as error:
                if time.monotonic() > deadline:
                    raise UserError(f"VTGate does not serve: {error}") from error
                time.sleep(0.5)

    def stop(self):
        self.gate().stop()
        for tablet in self.tablets():
            tablet.stop()
        self.controller().stop()
        self.etcd().stop()

    def kill(self):
        for daemon in (self.gate(), self.controller(), self.etcd()):
            daemon.kill()
        for tablet in self.tablets():
            tablet.kill()
