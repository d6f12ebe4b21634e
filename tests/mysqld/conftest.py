# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures of tests through a server: each module has one server, each test a Test named `t`."""
import os
import signal

import pytest

from framework import ENGINE, SEED, Failure, Test, make_server


def pytest_configure():
    # A run that is ended from outside stops its servers.
    signal.signal(signal.SIGTERM, lambda *ignored: pytest.exit("ended from outside"))


def pytest_report_header():
    return f"engine {ENGINE}, seed {SEED} (ROWAN_TEST_SEED repeats it)"


@pytest.fixture(scope="module")
def module_server(request):
    mark = request.node.get_closest_marker("server")
    server = make_server(request.module.__name__, **(mark.kwargs if mark else {}))
    try:
        server.start()
        yield server
    finally:
        if request.session.testsfailed and os.environ.get("ROWAN_TEST_KEEP"):
            server.kill()
            print(f"kept: {server.folder}")
        else:
            server.destroy()


@pytest.fixture
def t(request, module_server):
    if not module_server.is_running():
        module_server.start()
    test = Test(request.node.name, module_server)
    yield test
    try:
        test.finish()
    except Failure:
        if not test.failed:
            raise
    finally:
        test.remove_servers()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A failed test shows what its servers wrote into their logs."""
    report = (yield).get_result()
    test = item.funcargs.get("t")
    if report.failed and test:
        test.failed = True
        for server in test.all_servers():
            report.sections.append((f"error log of {server.folder.name}",
                                    server.messages()[-3000:]))
