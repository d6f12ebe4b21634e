# SPDX-License-Identifier: GPL-2.0-only
"""Each shard of the keyspace is split into two while it is written to."""
import json
import time

from ..paths import UserError
from .cluster import SHARDED

_WORKFLOW = "split"
_LIMIT_WITHOUT_PROGRESS_S = 900


def halves(shard):
    """Of a range of keys: '-80' is '-40' and '40-80'."""
    start, end = shard.split("-")
    digits = max(len(start), len(end), 2)
    low = int(start.ljust(digits, "0"), 16) if start else 0
    high = int(end.ljust(digits, "0"), 16) if end else 16 ** digits
    if high - low < 2:
        raise UserError(f"{shard} is too small to be split")
    middle = f"{(low + high) // 2:0{digits}x}"
    return f"{start}-{middle}", f"{middle}-{end}"


def split(cluster, replicas, step):
    """Copies, compares and switches to shards of so many replicas. Returns what VDiff says of each
    table. REQUIRES: replicas, if the old shards have some, as their commits wait for one."""
    old = cluster.shards(SHARDED)
    new = [half for shard in old for half in halves(shard)]
    for shard in new:
        cluster.add_shard(SHARDED, shard, replicas)
    cluster.start_tablets([tablet for shard in new for tablet in cluster.tablets(SHARDED, shard)],
                          step)
    step.update(detail="copying")
    _reshard(cluster, "create", f"--source-shards={','.join(old)}",
             f"--target-shards={','.join(new)}")
    _await(lambda: _copied(cluster), "the copy")
    step.update(detail="comparing (VDiff)")
    compared = vdiff(cluster, SHARDED, _WORKFLOW)
    step.update(detail="switching")
    _reshard(cluster, "switchtraffic")
    _reshard(cluster, "complete")
    cluster.control("DeleteShards", "--recursive", "--even-if-serving", "--force",
                    *(f"{SHARDED}/{shard}" for shard in old))
    for shard in old:
        cluster.forget_shard(SHARDED, shard)
    cluster.await_serving()
    return compared


def _reshard(cluster, action, *arguments):
    return cluster.control("Reshard", f"--workflow={_WORKFLOW}", f"--target-keyspace={SHARDED}",
                           action, *arguments)


def _await(look, what):
    """Until look() says that it has ended; with that it says how far it is. UserError if it stays
    there."""
    seen, since = None, time.monotonic()
    while True:
        ended, progress = look()
        if ended:
            return
        if progress != seen:
            seen, since = progress, time.monotonic()
        if time.monotonic() > since + _LIMIT_WITHOUT_PROGRESS_S:
            raise UserError(f"{what} has not gone on for {_LIMIT_WITHOUT_PROGRESS_S} s: "
                            f"{json.dumps(seen)[:1000]}")
        time.sleep(0.5)


def _copied(cluster):
    streams = _streams(cluster, SHARDED, _WORKFLOW)
    ended = bool(streams) and {_state(stream) for stream in streams} == {"Running"}
    return ended, [(stream["shard"], stream["rows_copied"]) for stream in streams]


def states(cluster, keyspace, workflow):
    """Of the streams of a workflow. UserError if one has failed."""
    return [_state(stream) for stream in _streams(cluster, keyspace, workflow)]


def _state(stream):
    return "Copying" if stream["copy_states"] else stream["state"]


def _streams(cluster, keyspace, workflow):
    told = json.loads(cluster.control("Workflow", f"--keyspace={keyspace}", "show",
                                      f"--workflow={workflow}", "--include-logs=false"))
    found = []
    for one in told["workflows"]:
        for streams in one["shard_streams"].values():
            for stream in streams["streams"]:
                if stream["state"] == "Error":
                    raise UserError(f"the stream into {stream['shard']} ended: {stream['message']}")
                found.append(stream)
    return found


def vdiff(cluster, keyspace, workflow):
    """Compares source and target of a workflow. Returns (table, rows compared) pairs; UserError
    where rows differ."""
    flags = ("VDiff", f"--target-keyspace={keyspace}", f"--workflow={workflow}")
    cluster.control(*flags, "create", "--auto-retry")
    report = {}

    def ended():
        nonlocal report
        report = json.loads(cluster.control(*flags, "show", "last", "--format=json", "--verbose"))
        return (report.get("State") in ("completed", "error", "stopped"),
                [report.get(part) for part in ("TableSummary", "Reports")])
    _await(ended, "VDiff")
    if report["State"] != "completed" or report["HasMismatch"]:
        raise UserError(f"VDiff: {json.dumps(report)[:1000]}")
    return sorted((name, table["RowsCompared"]) for name, table in
                  report.get("TableSummary", {}).items())
