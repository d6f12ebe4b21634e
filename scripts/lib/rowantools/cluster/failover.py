# SPDX-License-Identifier: GPL-2.0-only
"""What is done when the source has died: a replica becomes the source, and the old one comes back
as a replica, from a backup if it has transactions that no replica got."""
from ..paths import UserError
from .members import HasOwnTransactions, received


def promote(cluster):
    """The replica that has received most leads, the others follow it. Returns its number."""
    if cluster.server(cluster.source).is_running():
        raise UserError(f"server {cluster.source} runs and is the source")
    sets = {}
    for number in cluster.replicas():
        if not cluster.server(number).is_running():
            continue
        with cluster.client(number) as client:
            client.execute("STOP REPLICA IO_THREAD")
            sets[number] = received(client)
    if not sets:
        raise UserError("no replica runs")
    chosen = _most_advanced(cluster, sets)
    cluster.await_applied(chosen, sets[chosen])
    with cluster.client(chosen) as client:
        client.execute("STOP REPLICA")
        client.execute("RESET REPLICA ALL")
    for number in sets:
        if number != chosen:
            cluster.follow(number, chosen)
    cluster.lead(chosen)
    return chosen


def _most_advanced(cluster, sets):
    """All replicas receive one history, so one of them has what any has."""
    with cluster.client(next(iter(sets))) as client:
        for number, gtids in sets.items():
            if all(int(client.value(f"SELECT GTID_SUBSET('{other}', '{gtids}')"))
                   for other in sets.values()):
                return number
    raise UserError(f"no replica has received all that the others have: {sets}")


def rejoin(cluster, number):
    """Starts a server that died and makes it a replica. Returns why it was built anew, or None."""
    cluster.start(number)
    try:
        cluster.follow(number)
        return None
    except HasOwnTransactions as own:
        cluster.rebuild(number)
        return str(own)
