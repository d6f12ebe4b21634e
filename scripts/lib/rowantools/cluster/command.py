# SPDX-License-Identifier: GPL-2.0-only
"""scripts/cluster: a source, its replicas and a program in front of them on this machine."""
import argparse
import os
import shutil
import sys

from ..client import MysqlError
from ..mysql_tree import find_tree
from ..paths import BUILD, UserError, run_main
from ..progress import Step, say
from ..vitess import command as vitess
from . import load as loads
from .failover import promote, rejoin
from .fronts import NAMES, front_of
from .members import Cluster, applier_error, executed

_NOT_RUNNING = 3


def _parse():
    parser = argparse.ArgumentParser(
        prog="scripts/cluster",
        description="A source and its replicas with GTIDs and semi-synchronous acknowledgement, "
                    "with HAProxy or MySQL Router in front: one port for writes, one for reads. "
                    "All listen on the loopback address only. See docs/scale-out.md.",
        epilog="failover: kills the source with SIGKILL under load, promotes a replica, takes the "
               "old source back as a replica, and compares all rows with what was acknowledged. "
               "Shards behind one port: scripts/cluster vitess --help.")
    parser.add_argument("action", choices=["start", "stop", "status", "log", "shell", "load",
                                           "failover", "promote", "destroy"])
    parser.add_argument("server", nargs="?", type=int, metavar="N",
                        help="log, shell: the server with this number (default: the source)")
    parser.add_argument("--dir", default=str(BUILD / "cluster"), help="folder of the cluster")
    parser.add_argument("--replicas", type=int, default=2, help="of a new cluster (default 2)")
    parser.add_argument("--engine", default="rowan", choices=["rowan", "innodb"],
                        help="the default engine of a new cluster")
    parser.add_argument("--buffer-pool", default="256M", metavar="SIZE",
                        help="of each engine of each server (default 256M)")
    parser.add_argument("--front", choices=NAMES, default="haproxy",
                        help="of a new cluster (default haproxy); none: clients go to the "
                             "servers' own ports")
    parser.add_argument("--no-front", dest="front", action="store_const", const="none",
                        help="the same as --front none")
    parser.add_argument("--writers", type=int, default=4, help="sessions of a load (default 4)")
    parser.add_argument("--seconds", type=float, default=20,
                        help="length of a load; failover comes at its half (default 20)")
    options = parser.parse_args()
    if options.replicas < 1:
        parser.error("commits wait for a replica: there must be one")
    return options


def _start(cluster, options):
    if not cluster.exists():
        cluster.create(options.replicas, options.engine, options.buffer_pool, options.front)
    with Step(f"starting {len(cluster.numbers())} servers in {cluster.folder}"):
        cluster.start_all()
    front_of(cluster).turn()
    return _status(cluster)


def _stop(cluster):
    with Step("stopping the servers"):
        front_of(cluster).stop()
        cluster.stop_all()


def _destroy(cluster):
    front_of(cluster).stop()
    for number in cluster.numbers():
        cluster.server(number).kill()
    shutil.rmtree(cluster.folder)


def _status(cluster):
    state = cluster.state
    source = cluster.server(cluster.source)
    wanted = ""
    if source.is_running():
        with source.client() as client:
            wanted = executed(client)
    for number in cluster.numbers():
        print(f"cluster: server {number}, port {state['ports'][number]}: "
              + _server_status(cluster, number, wanted))
    front = front_of(cluster)
    if front.title:
        print(f"cluster: writes to port {state['write_port']}, reads from port "
              f"{state['read_port']} (user {loads.LOAD_USER}): {front.title}, "
              + (f"process {front.pid()}" if front.pid() else "not running"))
    return 0 if wanted and (front.pid() or not front.title) else _NOT_RUNNING


def _server_status(cluster, number, wanted):
    server = cluster.server(number)
    role = "source" if number == cluster.source else "replica"
    if not server.is_running():
        return f"{role}, not running"
    with server.client() as client:
        if role == "source":
            waiting = client.value("SELECT variable_value FROM performance_schema.global_status "
                                   "WHERE variable_name = 'Rpl_semi_sync_source_clients'")
            return f"source, process {server.pid()}, {waiting} semi-synchronous replicas"
        error = applier_error(client)
        if error:
            return f"replica, process {server.pid()}, applier stopped: {error}"
        behind = client.value(f"SELECT GTID_SUBTRACT('{wanted}', @@global.gtid_executed)")
        return (f"replica, process {server.pid()}, "
                + (f"behind by {_transactions(behind)} transactions" if behind else "up to date"))


def _transactions(gtids):
    """How many a GTID set has."""
    total = 0
    for source in gtids.replace("\n", "").split(","):
        for interval in source.split(":")[1:]:
            first, _, last = interval.partition("-")
            total += int(last or first) - int(first) + 1
    return total


def _new_load(cluster, options):
    with cluster.client(cluster.source) as client:
        loads.prepare(client, cluster.state["engine"])
    return loads.Load(cluster.write_address, options.writers)


def _check(cluster, load):
    """All servers have the same rows, and those that were acknowledged."""
    with Step("comparing the rows of all servers"):
        with cluster.client(cluster.source) as source:
            load.check(source)
            rows = 0
            for number in cluster.replicas():
                cluster.await_replica(number)
                with cluster.client(number) as replica:
                    rows = loads.compare(source, replica)
    unknown = sum(len(writer.unknown) for writer in load.writers)
    say(f"cluster: {load.acknowledged} transactions acknowledged, none lost, {unknown} unknown to "
        f"their clients; {rows} rows are the same on {len(cluster.numbers())} servers")


def _load(cluster, options):
    load = _new_load(cluster, options)
    with load, Step(f"writing with {options.writers} sessions") as step:
        load.run_for(step, options.seconds)
    with Step("waiting for the replicas") as step:
        for number in cluster.replicas():
            cluster.await_replica(number)
        lag_s = step.elapsed()
    say(f"cluster: {load.acknowledged / options.seconds:.0f} transactions a second; the replicas "
        f"had applied the last one {lag_s:.1f} s after it")
    _check(cluster, load)


def _failover(cluster, options):
    load = _new_load(cluster, options)
    old = cluster.source
    with load:
        with Step(f"writing with {options.writers} sessions") as step:
            load.run_for(step, options.seconds / 2)
        before = load.acknowledged
        with Step(f"killing server {old}, the source; promoting a replica") as step:
            cluster.server(old).kill()
            new = promote(cluster)
            front_of(cluster).turn()
            took_s = step.elapsed()
        with Step(f"writing to server {new}, which is the source now; server {old} comes back"
                  ) as step:
            rebuilt = rejoin(cluster, old)
            front_of(cluster).turn()
            load.run_for(step, options.seconds / 2)
    gap_s = max(writer.longest_gap_s for writer in load.writers)
    say(f"cluster: the new source took writes {took_s:.2f} s after the kill; the longest wait of a "
        f"writer was {gap_s:.2f} s; {before} transactions before, {load.acknowledged - before} "
        "after")
    if rebuilt:
        say(f"cluster: {rebuilt}; no client was told of them: it was built anew from a backup")
    _check(cluster, load)


def _promote(cluster):
    with Step("promoting a replica"):
        new = promote(cluster)
        front_of(cluster).turn()
    say(f"cluster: server {new} is the source")


def _shell(server):
    program = str(find_tree().program("mysql"))
    os.execv(program, [program, "--no-defaults", f"--socket={server.socket}", "--user=root"])


def main():
    if sys.argv[1:2] == ["vitess"]:
        return vitess.main(sys.argv[2:])
    options = _parse()
    cluster = Cluster(options.dir)
    if options.action == "start":
        return _start(cluster, options)
    if not cluster.exists():
        raise UserError(f"there is no cluster in {cluster.folder}; scripts/cluster start")
    server = cluster.server(cluster.source if options.server is None else options.server)
    actions = {"stop": lambda: _stop(cluster), "destroy": lambda: _destroy(cluster),
               "status": lambda: _status(cluster), "shell": lambda: _shell(server),
               "log": lambda: print(server.error_log.read_text(errors="replace"), end=""),
               "load": lambda: _load(cluster, options), "promote": lambda: _promote(cluster),
               "failover": lambda: _failover(cluster, options)}
    try:
        return actions[options.action]()
    except MysqlError as error:
        raise UserError(f"a server says: {error}")


if __name__ == "__main__":
    sys.exit(run_main(main, "cluster"))
