# SPDX-License-Identifier: GPL-2.0-only
"""What is packaged, and for which server: names, versions and the time of its files."""
import os
import re
import subprocess
from dataclasses import dataclass

from ..mysql_tree import find_tree
from ..paths import ROOT, UserError

_NO_HISTORY_TIME = 1767225600  # where no history tells the age of the sources: any fixed time


@dataclass(frozen=True)
class Product:
    """`version` is Rowan's, `server` what the server says of itself, as 9.7.4-2."""
    version: str
    server: str
    vendor: str
    epoch: int

    @property
    def name(self):
        """rowan-mysql-9.7: each line of servers has a package of its own."""
        return "rowan-mysql-" + ".".join(self.server.split(".")[:2])

    @property
    def maintainer(self):
        name = os.environ.get("DEBFULLNAME", "Rowan maintainers")
        return f"{name} <{os.environ.get('DEBEMAIL', 'maintainers@rowan.invalid')}>"

    def fill(self, text):
        """A file of packaging/ with its names."""
        for name, value in (("PACKAGE", self.name), ("VERSION", self.version),
                            ("SERVER", self.server), ("MAINTAINER", self.maintainer)):
            text = text.replace(f"@{name}@", value)
        return text


def product(version=None):
    """The one that this checkout makes for the server in force."""
    server, vendor = _server()
    return Product(version or _own_version(), server, vendor, _epoch())


def _server():
    mysqld = find_tree().mysqld
    text = subprocess.run([str(mysqld), "--no-defaults", "--version"], capture_output=True,
                          text=True).stdout
    match = re.search(r" Ver (\S+) .*?\((.*)\)$", text.strip())
    if not match:
        raise UserError(f"{mysqld} --version prints no version")
    return match.group(1), match.group(2).strip("()")


def _own_version():
    """That of CMakeLists.txt; of a clone also how many commits it has, and the last one."""
    release = re.search(r"project\(rowan VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    count, commit = _git("rev-list", "--count", "HEAD"), _git("rev-parse", "--short=8", "HEAD")
    return release.group(1) + (f"+{count}.{commit}" if count else "") + "-1"


def _epoch():
    return int(os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct")
               or _NO_HISTORY_TIME)


def _git(*arguments):
    try:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True,
                              text=True).stdout.strip()
    except OSError:
        return ""
