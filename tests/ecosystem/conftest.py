# SPDX-License-Identifier: GPL-2.0-only
"""Tests of others' tools: the fixtures of tests through a server. All of them are long."""
import importlib.util
import os
import sys
from pathlib import Path

import pytest

_MYSQLD = Path(__file__).resolve().parents[1] / "mysqld"
sys.path.insert(0, str(_MYSQLD))
_spec = importlib.util.spec_from_file_location("mysqld_conftest", _MYSQLD / "conftest.py")
_fixtures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_fixtures)
module_server, t = _fixtures.module_server, _fixtures.t
pytest_configure = _fixtures.pytest_configure
pytest_runtest_makereport = _fixtures.pytest_runtest_makereport


def pytest_collection_modifyitems(items):
    if os.environ.get("ROWAN_TEST_LONG") == "1":
        return
    for item in items:
        if Path(item.path).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.skip(reason="tools of others: ask for them with --long"))


@pytest.fixture(params=["ROWAN", "InnoDB"])
def engine(request):
    """Each tool does its work on both."""
    return request.param
