# SPDX-License-Identifier: GPL-2.0-only
"""Shared code of scripts/setup, scripts/server, scripts/test, scripts/demo and the tests through mysqld."""
