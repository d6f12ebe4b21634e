# SPDX-License-Identifier: GPL-2.0-only
"""go-tpc, built from the Go module proxy. Its TPC-H has six million order lines at the least; it is
built here to make a tenth of them, and of all rows that go with them."""
import re
import shutil

from rowantools.fetched import go_programs, once
from rowantools.paths import UserError
from tools import or_skip, run

_VERSION = "v1.0.7"
_GENERATED_TABLES = 8


class GoTpc:
    """Runs it as a user without a password."""

    def __init__(self, user):
        self._user = user
        self._folder = or_skip(lambda: once("go-tpc-tenth", _build))

    def run(self, server, database, *arguments):
        """What it prints. REQUIRES: the server has a port."""
        return run([str(self._folder / "go-tpc"), *arguments, "-P", str(server.port), "-U",
                    self._user, "-D", database])

    def tpch_queries(self):
        """The statements of each query by its name, such as q1."""
        text = (self._folder / "query.go").read_text()
        return {name: [part for part in query.split(";") if part.strip()]
                for name, query in re.findall(r"\t(q\d+) = `(.*?)`", text, re.DOTALL)}


def _build(folder):
    def change(sources):
        shutil.copy(sources / "tpch/query.go", folder)
        driver = sources / "tpch/dbgen/driver.go"
        text, count = re.subn(r'(tables?", \d+)', r"\1 / 10", driver.read_text())
        if count != _GENERATED_TABLES:
            raise UserError(f"{driver} is not as it was in go-tpc {_VERSION}")
        driver.write_text(text)
    go_programs(folder, "github.com/pingcap/go-tpc", _VERSION, ["cmd/go-tpc"], change=change)
