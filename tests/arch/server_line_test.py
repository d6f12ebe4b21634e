# SPDX-License-Identifier: GPL-2.0-only
"""What differs between the lines of MySQL is in one header: nothing else asks for the version."""
import re

from rowantools.cpp_source import sources
from rowantools.line_tests import require_none
from rowantools.paths import ROOT

_HOME = "plugin/compat/server_line.h"
_GUARD = "plugin/server/abi_guard.h"  # refuses other versions
_ASKS = re.compile(r"MYSQL_VERSION_ID|ROWAN_MYSQL_8_4")


def test_one_header_knows_the_version_of_the_server():
    findings = []
    for path in sources():
        name = str(path.relative_to(ROOT))
        if name not in (_HOME, _GUARD):
            findings += [f"{name}:{number}: {line.strip()}" for number, line
                         in enumerate(path.read_text().splitlines(), 1) if _ASKS.search(line)]
    require_none(findings, f"the server's version outside of {_HOME}")
