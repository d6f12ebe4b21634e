# SPDX-License-Identifier: GPL-2.0-only
"""Shared code of scripts/setup, server, test, bench, and of the tests through mysqld."""
