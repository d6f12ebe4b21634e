# SPDX-License-Identifier: GPL-2.0-only
"""Others' tools, fetched from Debian's archive, PyPI and the Go module proxy into .mysql/."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rowantools.bench.private_package import provide
from rowantools.fetched import fetch, go_programs, once
from rowantools.line_tests import Failure
from rowantools.paths import UserError

_DEBIAN = ["mydumper", "percona-toolkit", "mysqltuner", "prometheus", "prometheus-mysqld-exporter",
           "perl"]
_GH_OST = "v1.1.8"
_BINLOG_READER = "mysql-replication==1.0.17"
_NODE_MODULES = ["sequelize@6.37.8", "typeorm@1.1.1", "mysql2@3.24.6", "reflect-metadata@0.2.2"]


class Tools:
    """Programs of Debian's packages, run as if they were installed."""

    def __init__(self, server):
        try:
            self.folder = provide("ecosystem", _DEBIAN)
        except UserError as error:
            pytest.skip(f"Debian's packages cannot be had: {error}")
        self._server = server

    def environment(self):
        folder = self.folder
        modules = [folder / "usr/share/perl5"]
        for pattern in ("usr/lib/*/perl5/*", "usr/share/perl/*", "usr/lib/*/perl/*",
                        "usr/lib/*/perl-base"):
            modules += sorted(folder.glob(pattern))
        plugins = sorted(folder.glob("usr/lib/*/libmariadb3/plugin"))
        return {**os.environ, "LC_ALL": "C", "PERL5LIB": ":".join(map(str, modules)),
                "MARIADB_PLUGIN_DIR": str(plugins[0]) if plugins else "",
                "PATH": f"{self._server.tree.basedir / 'bin'}:{os.environ['PATH']}"}

    def command(self, name, *arguments):
        program = self.folder / "usr/bin" / name
        script = program.read_bytes()[:2] == b"#!"
        perl = [str(self.folder / "usr/bin/perl")] if script else []
        return [*perl, str(program), *map(str, arguments)]

    def run(self, name, *arguments, status=0):
        """What it prints; the status must be the one that is expected."""
        return run(self.command(name, *arguments), status, self.environment())


def run(command, status=0, environment=None, stdin=subprocess.DEVNULL):
    result = subprocess.run(command, stdin=stdin, stdout=subprocess.PIPE, text=True,
                            stderr=subprocess.STDOUT, env=environment, errors="replace")
    if result.returncode != status:
        raise Failure(f"{command} ended with {result.returncode}: {result.stdout[-3000:]}")
    return result.stdout


def dsn(server, **parts):
    """How Percona's tools are told where to go."""
    return ",".join([f"S={server.socket}", "u=root", *(f"{key}={value}" for key, value
                                                       in parts.items())])


def or_skip(make):
    """What make() returns; the test is skipped, with the reason, where it cannot be had."""
    try:
        return make()
    except UserError as error:
        pytest.skip(str(error))


def gh_ost():
    """Its path: built from the module's sources."""
    return or_skip(lambda: once("gh-ost", lambda folder: go_programs(
        folder, "github.com/github/gh-ost", _GH_OST, ["go/cmd/gh-ost"]))) / "gh-ost"


def binlog_reader():
    """Where Python finds pymysqlreplication."""
    return or_skip(lambda: once("binlog-reader", lambda folder: fetch(
        _BINLOG_READER, [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder),
                         _BINLOG_READER])))


def node_modules():
    """Where node finds Sequelize and TypeORM."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm to fetch Sequelize and TypeORM with")

    def fill(folder):
        (folder / "package.json").write_text('{"private": true}')
        fetch("Sequelize and TypeORM", [npm, "install", "--no-audit", "--no-fund",
                                        "--ignore-scripts", *_NODE_MODULES], cwd=folder)
    return or_skip(lambda: once("node-orms", fill)) / "node_modules"


def java_libraries():
    """The folder of Hibernate, Flyway and Liquibase."""
    return _of_maven("java-libraries", "java")


def debezium():
    """The folder of its libraries."""
    return _of_maven("debezium", "debezium")


def _of_maven(name, project):
    """The folder of the libraries that a project below applications/ names."""
    if shutil.which("mvn") is None or shutil.which("java") is None:
        pytest.skip(f"there is no Maven to fetch {name} with")
    project = Path(__file__).with_name("applications") / project / "pom.xml"
    return or_skip(lambda: once(name, lambda folder: fetch(name, [
        "mvn", "-q", "-B", "-f", str(project), "dependency:copy-dependencies",
        f"-DoutputDirectory={folder}"])))
