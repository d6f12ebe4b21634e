# SPDX-License-Identifier: GPL-2.0-only
"""scripts/cluster vitess: shards behind one port."""
import argparse
import os
import shutil

from ..client import MysqlError
from ..mysql_tree import find_tree
from ..paths import BUILD, UserError
from ..progress import Step, say
from . import load as loads
from . import reshard
from .cluster import SHARDED, VitessCluster
from .failover import rejoin, replace_primary
from .shell import run_shell

_NOT_RUNNING = 3


def _parse(arguments):
    parser = argparse.ArgumentParser(
        prog="scripts/cluster vitess",
        description="Vitess: a keyspace of two shards, each a primary with its replicas, a "
                    "keyspace of one server, VTGate in front and etcd behind. All listen on the "
                    "loopback address only. The first start builds Vitess from the Go module "
                    "proxy, which takes long. See docs/scale-out.md.",
        epilog="failover: kills the primary of a shard under load (--planned: demotes it), takes "
               "it back as a replica. reshard: splits each shard into two under load. Both compare "
               "all rows with what was acknowledged.")
    parser.add_argument("action", choices=["start", "stop", "status", "log", "shell", "load",
                                           "failover", "reshard", "destroy"])
    parser.add_argument("name", nargs="?", default="vtgate", metavar="NAME",
                        help="log, shell: vtgate (the default) or a tablet's number as status has "
                             "it; log also: vtctld, etcd, and N.vttablet, as N is the log of "
                             "mysqld. failover: a shard, such as 80-")
    parser.add_argument("--dir", default=str(BUILD / "vitess"), help="folder of the cluster")
    parser.add_argument("--replicas", type=int, default=2,
                        help="of each shard of a new cluster, or of those that reshard makes "
                             "(default 2; an unplanned failover needs two, commits wait for one)")
    parser.add_argument("--engine", default="rowan", choices=["rowan", "innodb"],
                        help="the default engine of a new cluster")
    parser.add_argument("--buffer-pool", default="64M", metavar="SIZE",
                        help="of each engine of each server (default 64M)")
    parser.add_argument("--planned", action="store_true", help="failover: nobody is killed")
    parser.add_argument("--writers", type=int, default=4, help="sessions of a load (default 4)")
    parser.add_argument("--seconds", type=float, default=20,
                        help="length of a load; failover comes at its half (default 20)")
    options = parser.parse_args(arguments)
    if options.replicas < 1:
        parser.error("commits wait for a replica: there must be one")
    return options


def _start(cluster, options):
    if not cluster.exists():
        cluster.create(options.engine, options.replicas, options.buffer_pool)
    with Step(f"starting Vitess in {cluster.folder}") as step:
        cluster.start(step)
        step.update(detail="")
    return _status(cluster)


def _stop(cluster):
    with Step("stopping Vitess"):
        cluster.stop()


def _destroy(cluster):
    cluster.kill()
    shutil.rmtree(cluster.folder)


def _status(cluster):
    daemons = [cluster.etcd(), cluster.controller(), cluster.gate()]
    whole = all(daemon.pid() for daemon in daemons)
    leaders = cluster.leaders() if all(daemon.pid() for daemon in daemons[:2]) else set()
    for tablet in cluster.tablets():
        role = "primary" if tablet.alias in leaders else "replica"
        running = [f"{name} {pid or 'not running'}" for name, pid in (
            ("mysqld", tablet.server.is_running() and tablet.server.pid()),
            ("vttablet", tablet.daemon.pid()))]
        whole = whole and not any("not running" in text for text in running)
        print(f"vitess: tablet {tablet.place['uid']}, {tablet.keyspace}/{tablet.shard}: {role}, "
              + ", ".join(running))
    print("vitess: " + ", ".join(f"{daemon.name} {daemon.pid() or 'not running'}"
                                 for daemon in daemons)
          + f"; VTGate's port is {cluster.state['gate_port']}, for any user")
    return 0 if whole else _NOT_RUNNING


def _log(cluster, name):
    uid, _, part = name.partition(".")
    tablets = {str(tablet.place["uid"]): tablet for tablet in cluster.tablets()}
    if uid in tablets:
        path = tablets[uid].daemon.log if part else tablets[uid].server.error_log
    else:
        daemons = {daemon.name: daemon for daemon in (cluster.etcd(), cluster.controller())}
        path = daemons.get(name, cluster.gate()).log
    print(path.read_text(errors="replace"), end="")


def _shell(cluster, name):
    for tablet in cluster.tablets():
        if str(tablet.place["uid"]) == name:
            program = str(find_tree().program("mysql"))
            os.execv(program, [program, "--no-defaults", f"--socket={tablet.server.socket}",
                               "--user=root"])
    with cluster.client(SHARDED) as client:
        run_shell(client, "vtgate> ")


def _check(cluster, load):
    with Step("comparing the rows of all shards and servers"):
        rows = loads.check(cluster, load)
    unknown = sum(len(writer.unknown) for writer in load.writers)
    say(f"vitess: {load.acknowledged} transactions acknowledged, none lost, {unknown} unknown to "
        f"their clients; {rows} rows on {len(cluster.shards(SHARDED))} shards, the same on all "
        "servers of each")


def _load(cluster, options):
    load = loads.new_load(cluster, options.writers)
    with load, Step(f"writing with {options.writers} sessions") as step:
        load.run_for(step, options.seconds)
    say(f"vitess: {load.acknowledged / options.seconds:.0f} transactions a second")
    _check(cluster, load)


def _failover(cluster, options):
    shards = cluster.shards(SHARDED)
    shard = options.name if options.name in shards else shards[0]
    load = loads.new_load(cluster, options.writers)
    own = ""
    with load:
        with Step(f"writing with {options.writers} sessions") as step:
            load.run_for(step, options.seconds / 2)
        before = load.acknowledged
        with Step(f"a new primary for shard {shard}") as step:
            old, new = replace_primary(cluster, shard, options.planned)
            took_s = step.elapsed()
        with Step(f"tablet {new.place['uid']} is the primary; tablet {old.place['uid']} follows"
                  ) as step:
            if not options.planned:
                own = rejoin(cluster, old)
            load.run_for(step, options.seconds / 2)
    gap_s = max(writer.longest_gap_s for writer in load.writers)
    say(f"vitess: the new primary was there after {took_s:.2f} s; the longest wait of a writer was "
        f"{gap_s:.2f} s; {before} transactions before, {load.acknowledged - before} after")
    if own:
        say(f"vitess: tablet {old.place['uid']} had transactions that no other had got, {own}; no "
            "client was told of them: it was built anew from a backup")
    _check(cluster, load)


def _reshard(cluster, options):
    load = loads.new_load(cluster, options.writers)
    with load:
        with Step(f"writing with {options.writers} sessions") as step:
            load.run_for(step, options.seconds / 2)
        before = load.acknowledged
        with Step("splitting each shard into two") as step:
            compared = reshard.split(cluster, options.replicas, step)
            step.update(detail="")
        during = load.acknowledged
        with Step("writing to the new shards") as step:
            load.run_for(step, options.seconds / 2)
    gap_s = max(writer.longest_gap_s for writer in load.writers)
    told = ", ".join(f"{rows} of {table}" for table, rows in compared)
    say(f"vitess: VDiff found no difference in rows: {told}; {before} transactions before, "
        f"{during - before} meanwhile, {load.acknowledged - during} after; the longest wait of a "
        f"writer was {gap_s:.2f} s")
    _check(cluster, load)


def main(arguments):
    options = _parse(arguments)
    cluster = VitessCluster(options.dir)
    if options.action == "start":
        return _start(cluster, options)
    if not cluster.exists():
        raise UserError(f"there is no Vitess in {cluster.folder}; scripts/cluster vitess start")
    actions = {"stop": lambda: _stop(cluster), "destroy": lambda: _destroy(cluster),
               "status": lambda: _status(cluster), "log": lambda: _log(cluster, options.name),
               "shell": lambda: _shell(cluster, options.name),
               "load": lambda: _load(cluster, options),
               "failover": lambda: _failover(cluster, options),
               "reshard": lambda: _reshard(cluster, options)}
    try:
        return actions[options.action]()
    except MysqlError as error:
        raise UserError(f"a server says: {error}")
