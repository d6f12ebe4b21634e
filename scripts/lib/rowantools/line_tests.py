# SPDX-License-Identifier: GPL-2.0-only
"""Checks for tests that need no server."""


class Failure(AssertionError):
    """A check that did not hold; `findings` are listed one per line."""

    def __init__(self, findings):
        super().__init__(findings if isinstance(findings, str) else "\n".join(findings))


def require_none(findings, what):
    """Fails with the list unless it is empty."""
    if findings:
        raise Failure([f"{what} ({len(findings)})"] + list(findings))


def require_equal(actual, expected, what=""):
    if actual != expected:
        raise Failure(f"{what}: got {actual!r}, expected {expected!r}")
