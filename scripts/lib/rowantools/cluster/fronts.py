# SPDX-License-Identifier: GPL-2.0-only
"""The programs that may be in front of the servers, by name."""
from .front import Front
from .haproxy import HaProxy
from .router import Router

NAMES = ["haproxy", "router", "none"]


def front_of(cluster):
    """Clusters made when there was one kind have no name for it."""
    name = cluster.state["front"]
    kinds = {"router": Router, "none": Front, False: Front}
    return kinds.get(name, HaProxy)(cluster)
