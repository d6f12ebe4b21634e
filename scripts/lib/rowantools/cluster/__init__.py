# SPDX-License-Identifier: GPL-2.0-only
"""A source and its replicas on this machine: scripts/cluster."""
