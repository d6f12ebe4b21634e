# SPDX-License-Identifier: GPL-2.0-only
"""A tablet: a mysqld and the vttablet that steers it. Vitess starts and ends replication, sets
read_only and semi-synchronous acknowledgement itself; tables without ENGINE get the cluster's
engine, while Vitess's own tables, in the database _vt, name InnoDB."""
import shutil

from ..server import Server
from .daemon import Daemon
from .programs import vitess

_SERVER_OPTIONS = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--sync-binlog=1",
                   "--relay-log-recovery=ON", "--skip-replica-start", "--super-read-only=ON",
                   "--replica-preserve-commit-order=ON", "--replica-parallel-workers=4",
                   "--replica-net-timeout=8", "--max-connections=300", "--performance-schema=ON",
                   "--table-open-cache=400", "--table-definition-cache=400",
                   "--binlog-expire-logs-seconds=259200",
                   # A commit waits for its replica, however long.
                   "--loose-rpl-semi-sync-source-timeout=3600000"]
_PLUGINS = "ha_rowan.so;semisync_source.so;semisync_replica.so"
# The accounts that vttablet takes for its kinds of work.
_USERS = ("vt_dba", "vt_app", "vt_appdebug", "vt_allprivs", "vt_filtered", "vt_monitoring")


class Tablet:
    """`place` is a dictionary of uid, keyspace, shard, whether commits are acknowledged by a
    replica, and the ports of mysqld, HTTP and gRPC."""

    def __init__(self, cluster, place):
        self._cluster, self.place = cluster, place
        self.keyspace, self.shard = place["keyspace"], place["shard"]
        self.alias = f"{cluster.cell}-{place['uid']:010d}"
        self.folder = cluster.folder / f"tablet{place['uid']}"
        state = cluster.state
        self.server = Server(
            self.folder, binlog=True, install_plugin=False, port=place["mysql_port"],
            buffer_pool=state["buffer_pool"],
            options=[*_SERVER_OPTIONS, *state["server_options"], f"--server-id={place['uid']}",
                     f"--plugin-load-add={_PLUGINS}",
                     f"--default-storage-engine={state['engine']}"])
        self.daemon = Daemon("vttablet", self.folder, self._command(),
                             f"http://127.0.0.1:{place['port']}/debug/status",
                             {"VTDATAROOT": str(cluster.folder),
                              "VT_MYSQL_ROOT": str(self.server.tree.basedir)})

    def _command(self):
        server, place = self.server, self.place
        return [
            vitess() / "vttablet", *self._cluster.topology_flags(),
            "--config-file-not-found-handling=ignore", "--logtostderr",
            f"--tablet-path={self.alias}", "--tablet_hostname=127.0.0.1",
            f"--init_keyspace={self.keyspace}", f"--init_shard={self.shard}",
            "--init_tablet_type=replica", f"--port={place['port']}",
            f"--grpc_port={place['grpc_port']}", "--bind-address=127.0.0.1",
            "--grpc_bind_address=127.0.0.1",
            "--service_map=grpc-queryservice,grpc-tabletmanager,grpc-updatestream",
            f"--mycnf_server_id={place['uid']}", f"--mycnf_mysql_port={place['mysql_port']}",
            f"--mycnf_socket_file={server.socket}", f"--mycnf_data_dir={server.data}",
            f"--mycnf_error_log_path={server.error_log}",
            f"--mycnf_pid_file={self.folder / 'mysqld.pid'}",
            f"--mycnf_bin_log_path={server.data / 'binlog'}", f"--mycnf_tmp_dir={self.folder}",
            "--db_charset=utf8mb4", "--restore_from_backup=false", "--health_check_interval=1s",
            "--migration_check_interval=5s", "--heartbeat_on_demand_duration=5s",
            "--replication_connect_retry=1s", "--vreplication_retry_delay=1s",
            "--twopc_abandon_age=10s",
            # VDiff is done with once its shards, one after the other, wait longer for each other.
            "--lock-timeout=600s",
            *self._cluster.state["tablet_options"]]

    def start(self, leads=False):
        """mysqld, ready; vttablet, which may not be yet. The primary of a shard `leads`: a mysqld
        that was started anew knows nothing of it, and vttablet leaves it as it is."""
        fresh = not self.server.data.is_dir()
        if fresh:
            self._initialize()
        if not self.server.is_running():
            self.server.start()
        if fresh:
            self._create_users()
        if leads:
            with self.server.client() as client:
                if self.place["acknowledged"]:
                    client.execute("SET GLOBAL rpl_semi_sync_source_enabled = ON")
                client.execute("SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF")
        self.daemon.start()

    def _initialize(self):
        """An empty data directory; those after the first are copies of another empty one."""
        template = self._cluster.folder / "empty"
        if not template.is_dir():
            self.server.initialize()
            shutil.copytree(self.server.data, template)
            (template / "auto.cnf").unlink(missing_ok=True)  # each server draws its own UUID
            return
        partial = self.folder / "data.partial"
        shutil.copytree(template, partial, dirs_exist_ok=True)
        partial.rename(self.server.data)

    def _create_users(self):
        """On each server for itself, so that none has transactions of its own."""
        with self.server.client() as client:
            client.execute("SET GLOBAL super_read_only = OFF, SESSION sql_log_bin = OFF")
            for user in _USERS:
                client.execute(f"CREATE USER {user}@localhost")
                client.execute(f"GRANT ALL ON *.* TO {user}@localhost WITH GRANT OPTION")
            client.execute("GRANT PROXY ON ''@'' TO vt_dba@localhost WITH GRANT OPTION")
            client.execute("CREATE USER vt_repl@'%'")
            client.execute("GRANT REPLICATION SLAVE ON *.* TO vt_repl@'%'")
            client.execute("RESET BINARY LOGS AND GTIDS")
            client.execute("SET GLOBAL super_read_only = ON")

    def stop(self):
        self.daemon.stop()
        if self.server.is_running():
            self.server.stop()

    def kill(self):
        """Both at once, as when a machine fails."""
        self.server.kill()
        self.daemon.kill()

    def database(self):
        """Where mysqld has the rows of the keyspace."""
        return f"vt_{self.keyspace}"
