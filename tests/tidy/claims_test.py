# SPDX-License-Identifier: GPL-2.0-only
"""Documents name tests that exist, and links between documents lead somewhere.

A page names beside a claim the tests that fail when it becomes untrue, in a comment that is not
shown: <!-- test: mysqld/isolation_test.py test_no_write_skew; mvcc/row_test.cc RowTest.X -->. Paths
are those below tests/; a test stands behind the file it is in. A file alone stands for all of it.
"""
import re

from rowantools.line_tests import require_equal, require_none
from rowantools.paths import ROOT

CLAIMS_MIN = 80  # so many there are at least: else they are not read any more
_CLAIM = re.compile(r"<!-- test: (.*?) -->", re.DOTALL)
_TEST_FILE = re.compile(r"(?<![\w/])((?:[\w-]+/)*\w+_test\.(?:py|cc))(?!\w)")
_TEST_NAME = re.compile(r"test_\w+|\w+\.\w+")
_QUOTED_TEST = re.compile(r"`(test_\w+|[A-Z]\w*Test\.\w+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
_TEST_IN_CPP = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)
_TEST_IN_PYTHON = re.compile(r"^def (test_\w+)\(", re.MULTILINE)


def documents():
    return sorted((ROOT / "docs").rglob("*.md")) + sorted(ROOT.glob("*.md"))


def tests_of(path):
    """The names of the tests in a file: Suite.Name or test_name."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return set(_TEST_IN_PYTHON.findall(text))
    return {f"{suite}.{name}" for suite, name in _TEST_IN_CPP.findall(text)}


def claims(text):
    """What the comments of a page say, each in one line."""
    return [" ".join(claim.split()) for claim in _CLAIM.findall(text)]


def wrong_names(claim):
    """What a comment names that is not there; or that it names nothing at all."""
    found, wrong, known, file = 0, [], set(), "no file"
    for name in re.split(r"[;,\s]+", claim):
        if _TEST_FILE.fullmatch(name):
            file, known = name, set()
            path = ROOT / "tests" / name
            if path.is_file():
                known, found = tests_of(path), found + 1
            else:
                wrong.append(f"no file tests/{name}")
        elif not _TEST_NAME.fullmatch(name):
            wrong.append(f"{name} is no name of a test")
        elif name not in known:
            wrong.append(f"no test {name} in {file}")
    return wrong or ([] if found else ["it names no file"])


def wrong_files(text, files):
    """Test files that a text names, with or without their folder, and that are not there."""
    return [name for name in _TEST_FILE.findall(text)
            if not any(path == name or path.endswith("/" + name) for path in files)]


def anchors(text):
    """The headings as a browser spells them behind the #."""
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
            for heading in _HEADING.findall(text)}


def dead_links(path):
    text = path.read_text(encoding="utf-8")
    for link in _LINK.findall(text):
        name, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = path.parent / name if name else path
        if not target.exists():
            yield f"{path.relative_to(ROOT)}: {link} leads nowhere"
        elif anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
            yield f"{path.relative_to(ROOT)}: {link}: no such heading"


def test_claims_name_tests_that_exist():
    count, findings = 0, []
    for path in documents():
        items = claims(path.read_text(encoding="utf-8"))
        count += len(items)
        findings += [f"{path.relative_to(ROOT)}: {item[:60]}...: {wrong}"
                     for item in items for wrong in wrong_names(item)]
    require_none(findings, "claims")
    require_equal(count >= CLAIMS_MIN, True, f"{count} claims were read")


def test_documents_name_tests_that_exist():
    files = [str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("*_test.*")]
    known = {name for path in files for name in tests_of(ROOT / path)}
    findings = []
    for path in documents():
        text = path.read_text(encoding="utf-8")
        missing = wrong_files(text, files) + [
            name for name in _QUOTED_TEST.findall(text) if name not in known]
        findings += [f"{path.relative_to(ROOT)}: no test {name}" for name in missing]
    require_none(findings, "tests")


def test_links_lead_somewhere():
    require_none([finding for path in documents() for finding in dead_links(path)], "links")


def test_the_check_itself():
    arch, base = "arch/latch_order_test.py", "base/latch_test.cc"
    require_equal(claims(f"It holds. <!-- test: {base}\n X.Y -->"), [f"{base} X.Y"])
    require_equal(len(wrong_names(f"{arch} test_no_such")), 1)
    require_equal(len(wrong_names(f"{base} LatchTest.NoSuch")), 1)
    require_equal(len(wrong_names(f"{base} LatchTest.DowngradeWakesAParkedReader")), 0)
    require_equal(len(wrong_names(f"{base}; {arch}")), 0)
    require_equal(len(wrong_names("no/such_test.py")), 1)
    require_equal(len(wrong_names("LatchTest.DowngradeWakesAParkedReader")), 1)
    require_equal(wrong_files("`latch_test.cc`, tests/base/latch_test.cc, h_test.cc",
                              ["tests/base/latch_test.cc"]), ["h_test.cc"])
    require_equal(anchors("# One row, 2 cores\n"), {"one-row-2-cores"})
