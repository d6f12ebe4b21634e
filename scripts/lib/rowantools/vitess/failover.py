# SPDX-License-Identifier: GPL-2.0-only
"""A shard's primary dies, another tablet takes its place, and the old one comes back."""
from ..cluster.members import copy_from
from .cluster import REPARENT_LIMIT, SHARDED


def replace_primary(cluster, shard, planned):
    """Returns the old and the new primary. Unless planned, the old one is killed first."""
    old = cluster.primary(SHARDED, shard)
    if planned:
        cluster.control("PlannedReparentShard", REPARENT_LIMIT, f"--avoid-primary={old.alias}",
                        f"{SHARDED}/{shard}")
    else:
        old.kill()
        cluster.control("EmergencyReparentShard", REPARENT_LIMIT, f"{SHARDED}/{shard}")
    return old, cluster.primary(SHARDED, shard)


def rejoin(cluster, tablet):
    """Starts a tablet that was killed. Returns the transactions that no other had got, for which
    it was built anew from a backup of the primary, or ''."""
    tablet.server.start()
    primary = cluster.primary(tablet.keyspace, tablet.shard)
    with primary.server.client() as other, tablet.server.client() as client:
        executed = other.value("SELECT @@global.gtid_executed").replace("\n", "")
        own = client.value(f"SELECT GTID_SUBTRACT(@@global.gtid_executed, '{executed}')")
    if own:
        copy_from(primary.server, tablet.server, cluster.folder / f"copy{tablet.place['uid']}")
        with tablet.server.client() as client:
            client.execute("SET GLOBAL super_read_only = ON")
    tablet.daemon.start()
    tablet.daemon.wait_until_ready()
    return own
