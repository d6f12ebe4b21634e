# SPDX-License-Identifier: GPL-2.0-only
"""Vitess, built from the Go module proxy, and etcd, from Debian."""
import shutil
from pathlib import Path

from ..bench.private_package import provide
from ..fetched import go_programs, once
from ..paths import UserError

VERSION = "v0.22.1"
_TOOLCHAIN = "go1.24.9"  # Go 1.26 does not compile this version
_PROGRAMS = ("vttablet", "vtgate", "vtctld", "vtctldclient")


def vitess():
    """The folder of its programs."""
    return once(f"vitess-{VERSION}", lambda folder: go_programs(
        folder, "vitess.io/vitess", VERSION, [f"go/cmd/{name}" for name in _PROGRAMS], _TOOLCHAIN,
        _admit_mysql_9))


def _admit_mysql_9(sources):
    """This version of Vitess takes a server whose version does not begin with 8 for MySQL 5.7,
    and tells it statements that MySQL 8.4 and later lack."""
    flavor = sources / "go/mysql/flavor.go"
    known = "case strings.HasPrefix(serverVersion, mysql8VersionPrefix)"
    text = flavor.read_text()
    if known not in text:
        raise UserError(f"{flavor} is not as it was in Vitess {VERSION}")
    flavor.write_text(text.replace(known, known + ', strings.HasPrefix(serverVersion, "9.")'))


def etcd():
    """The machine's own, or Debian's, fetched."""
    own = shutil.which("etcd")
    return Path(own) if own else provide("etcd", ["etcd-server"]) / "usr/bin/etcd"
