# SPDX-License-Identifier: GPL-2.0-only
"""Vitess over servers of this machine: scripts/cluster vitess."""
