# SPDX-License-Identifier: GPL-2.0-only
"""Runs the test_* functions of a Python file that needs no server; prints PASS or FAIL each."""
import sys
import traceback


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


def run(names):
    wanted, failed = sys.argv[1:], 0
    for name, function in names.items():
        if not name.startswith("test_") or (wanted and not any(part in name for part in wanted)):
            continue
        try:
            function()
            print(f"PASS {name}")
        except Failure as error:
            failed += 1
            print(f"{error}\nFAIL {name}: " + str(error).replace("\n", "; ")[:1500])
        except Exception as error:
            failed += 1
            traceback.print_exc(file=sys.stdout)
            print(f"FAIL {name}: {type(error).__name__}: {error}")
    sys.exit(1 if failed else 0)
