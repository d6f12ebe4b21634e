# SPDX-License-Identifier: GPL-2.0-only
"""The benchmark driver behind scripts/bench: targets, workloads, measurements, results, reports."""
