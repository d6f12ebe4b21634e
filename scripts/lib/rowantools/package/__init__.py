# SPDX-License-Identifier: GPL-2.0-only
"""Packages of Rowan for one server: files laid out as installed, then as deb, tarball or image."""
