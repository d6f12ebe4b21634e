# SPDX-License-Identifier: GPL-2.0-only
"""Finds the MySQL server and source tree to use, and checks that they belong together.

ROWAN_MYSQL_PREFIX and ROWAN_MYSQL_SOURCE name a server and a source tree the user has; without
them it is `.mysql/prefix` and `.mysql/source` of this checkout, which scripts/setup creates, or
the same below `.mysql/8.4` for that line of servers.
"""
import os
import re
import shutil
import subprocess
from pathlib import Path

from .paths import SERVER_HOME, UserError

PREFIX_VARIABLE = "ROWAN_MYSQL_PREFIX"
SOURCE_VARIABLE = "ROWAN_MYSQL_SOURCE"
PRIVATE_PREFIX = SERVER_HOME / "prefix"
PRIVATE_SOURCE = SERVER_HOME / "source"
PRIVATE_TOOLS = SERVER_HOME / "tools"
_SERVER_FOLDERS = ("usr/sbin", "sbin", "bin", "usr/bin", "libexec", "usr/libexec",
                   "runtime_output_directory")
_PLUGIN_FOLDERS = ("lib/mysql/plugin", "lib/plugin", "lib64/mysql/plugin", "lib64/plugin",
                   "plugin_output_directory")


class MysqlTree:
    """An installed or unpacked server: `prefix` as given, paths derived from it."""

    def __init__(self, prefix, source):
        self.prefix, self.source = Path(prefix).resolve(), Path(source).resolve()
        self.mysqld = _find_mysqld(self.prefix)
        self.basedir = self.mysqld.parent.parent

    def program(self, name):
        """A client program of the server, of the private tools, or of the machine."""
        folders = [self.basedir / "bin", self.mysqld.parent, PRIVATE_TOOLS / "usr/bin",
                   PRIVATE_PREFIX / "usr/bin"]
        for folder in folders:
            if (folder / name).is_file():
                return folder / name
        found = shutil.which(name)
        if not found:
            raise UserError(f"the program {name} is neither under {self.prefix} nor in PATH; "
                            "scripts/setup fetches it")
        return Path(found)

    def sysbench_scripts(self):
        """The folder of the stock OLTP scripts that belongs to program('sysbench')."""
        program = self.program("sysbench")
        folder = program.resolve().parent.parent / "share" / "sysbench"
        if not (folder / "oltp_common.lua").is_file():
            raise UserError(f"the stock sysbench scripts are missing beside {program}")
        return folder

    def packaged_plugins(self):
        """The folder the server would load plugins from by default."""
        for name in _PLUGIN_FOLDERS:
            if (self.basedir / name).is_dir():
                return self.basedir / name
        return None

    def server_version(self):
        """(9, 7, 4) as `mysqld --version` tells it."""
        try:
            text = subprocess.run([str(self.mysqld), "--no-defaults", "--version"], text=True,
                                  capture_output=True, timeout=60).stdout
        except OSError as error:
            raise UserError(f"{self.mysqld} does not start: {error}")
        match = re.search(r"Ver (\d+)\.(\d+)\.(\d+)", text)
        if not match:
            raise UserError(f"{self.mysqld} --version prints no version")
        return tuple(int(part) for part in match.groups())

    def source_version(self):
        """(9, 7, 4) as the source tree's MYSQL_VERSION file tells it."""
        path = self.source / "MYSQL_VERSION"
        if not path.is_file():
            raise UserError(f"{self.source} is not a MySQL source tree: it has no "
                            "MYSQL_VERSION file")
        text = path.read_text()
        values = [re.search(rf"^MYSQL_VERSION_{part}=(\d+)", text, re.MULTILINE)
                  for part in ("MAJOR", "MINOR", "PATCH")]
        if not all(values):
            raise UserError(f"{path} names no version")
        return tuple(int(value.group(1)) for value in values)

    def check(self):
        """Raises UserError with one sentence unless server and source can be used together."""
        source, server = self.source_version(), self.server_version()
        if source != server:
            raise UserError(
                f"version mismatch: the server {self.mysqld} is MySQL {dotted(server)} but the "
                f"source tree {self.source} is MySQL {dotted(source)}; a plugin loads only into "
                "the exact version it was built for")
        if not (self.source / "builddir/include/my_config.h").is_file():
            raise UserError(f"the source tree {self.source} is not configured: "
                            "builddir/include/my_config.h is missing")
        return server


def dotted(version):
    return ".".join(str(part) for part in version)


def _find_mysqld(prefix):
    for folder in _SERVER_FOLDERS:
        if (prefix / folder / "mysqld").is_file():
            return prefix / folder / "mysqld"
    raise UserError(f"no mysqld under {prefix} (looked in {', '.join(_SERVER_FOLDERS)})")


def user_prefix():
    return os.environ.get(PREFIX_VARIABLE, "")


def user_source():
    return os.environ.get(SOURCE_VARIABLE, "")


def find_tree():
    """The MysqlTree in force; UserError if scripts/setup has yet to run."""
    prefix, source = user_prefix() or PRIVATE_PREFIX, user_source() or PRIVATE_SOURCE
    for path, variable in ((prefix, PREFIX_VARIABLE), (source, SOURCE_VARIABLE)):
        if not Path(path).is_dir():
            raise UserError(f"{path} does not exist; run scripts/setup, or set {variable}")
    return MysqlTree(prefix, source)
