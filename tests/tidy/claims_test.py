# SPDX-License-Identifier: GPL-2.0-only
"""docs/tested_claims.md stays true: the tests it names exist; links between documents lead
somewhere."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))

from rowantools.line_tests import require_equal, require_none, run  # noqa: E402

CLAIMS = ROOT / "docs" / "tested_claims.md"
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
_TEST_IN_CPP = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)
_TEST_IN_PYTHON = re.compile(r"^def (test_\w+)\(", re.MULTILINE)


def tests_of(path):
    """The names of the tests in a file: Suite.Name or test_name."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return set(_TEST_IN_PYTHON.findall(text))
    return {f"{suite}.{name}" for suite, name in _TEST_IN_CPP.findall(text)}


def claims(text):
    """The items of the page's lists, each in one line."""
    items = re.split(r"^- ", text.split("\n## ", 1)[1], flags=re.MULTILINE)[1:]
    return [" ".join(item.split("\n\n")[0].split()) for item in items]


def wrong_names(claim):
    """What a claim names that is not there; or that it names nothing at all."""
    found, wrong, known, file = 0, [], set(), "no file"
    for name in re.findall(r"`([^`]+)`", claim):
        if re.fullmatch(r"[\w/]+_test\.(?:py|cc)", name):
            file, known = name, set()
            path = ROOT / "tests" / name
            if path.is_file():
                known, found = tests_of(path), found + 1
            else:
                wrong.append(f"no file tests/{name}")
        elif re.fullmatch(r"test_\w+|\w+\.\w+", name) and name not in known:
            wrong.append(f"no test {name} in {file}")
    if found == 0 and not _LINK.search(claim):
        wrong.append("nothing shows it")
    return [f"{claim[:60]}...: {text}" for text in wrong]


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
    items = claims(CLAIMS.read_text(encoding="utf-8"))
    require_equal(len(items) > 50, True, f"{len(items)} claims were read")
    require_none([finding for item in items for finding in wrong_names(item)], "claims")


def test_links_lead_somewhere():
    documents = list((ROOT / "docs").rglob("*.md")) + list(ROOT.glob("*.md"))
    require_none([finding for path in documents for finding in dead_links(path)], "links")


def test_the_check_itself():
    arch, base = "arch/latch_order_test.py", "base/latch_test.cc"
    require_equal(len(wrong_names(f"x: `{arch}` `test_no_such`")), 1)
    require_equal(len(wrong_names(f"x: `{base}` `LatchTest.NoSuch`")), 1)
    require_equal(len(wrong_names(f"x: `{base}` `LatchTest.DowngradeWakesAParkedReader`")), 0)
    require_equal(len(wrong_names("x: `no/such_test.py`, nothing else")), 2)
    require_equal(len(wrong_names("x")), 1)
    require_equal(anchors("# One row, 2 cores\n"), {"one-row-2-cores"})


if __name__ == "__main__":
    run(dict(globals()))
