# SPDX-License-Identifier: GPL-2.0-only
"""docs/latches.md tells of every rank of base/latch_rank.def, and all that is locked has a rank."""
import re

from rowantools.cpp_source import blank_out, sources
from rowantools.line_tests import Failure, require_equal, require_none
from rowantools.paths import ROOT

_RANKS = re.compile(r"^X\((k\w+)\)\s*// \S", re.MULTILINE)
_LIST = re.compile(r"^\d+\. .*?(?=^$)", re.MULTILINE | re.DOTALL)
_STANDARD = re.compile(r"\bstd::(?:(?:shared_|recursive_|timed_)*mutex|condition_variable(?:_any)?"
                       r"|lock_guard|unique_lock|scoped_lock|shared_lock)\b")

# Files or folders: reason. They use the standard's mutexes, which nobody checks.
EXCEPTIONS = {
    "base/mutex.h": "wraps them",
    "base/logging.cc": "the sink of the logging library wants the standard's interface",
}


def _ranks():
    return _RANKS.findall((ROOT / "base" / "latch_rank.def").read_text())


def _exception_of(name):
    return next((key for key in EXCEPTIONS if name == key or name.startswith(f"{key}/")), None)


def listed_ranks(page):
    """The ranks in the numbered list of a page."""
    return re.findall(r"`(k\w+)`", _LIST.search(page).group())


def test_each_rank_has_a_comment():
    require_equal((ROOT / "base" / "latch_rank.def").read_text().count("\nX("), len(_ranks()),
                  "ranks with a comment")


def test_the_page_of_latches_lists_the_ranks_in_their_order():
    ranks, page = _ranks(), (ROOT / "docs" / "latches.md").read_text()
    listed = listed_ranks(page)
    require_none([f"{rank} is not in docs/latches.md" for rank in ranks if rank not in listed],
                 "ranks nobody told of")
    require_none([f"{name} of docs/latches.md is no rank" for name in listed if name not in ranks],
                 "names of nothing")
    require_equal(listed, ranks, "order of the list")


def test_each_rank_is_that_of_something():
    code = "".join(blank_out(path.read_text()) for path in sources()
                   if not path.name.startswith("latch_rank"))
    used = set(re.findall(r"\bLatchRank::(k\w+)", code))
    require_none([rank for rank in _ranks() if rank not in used], "ranks of nothing")


def test_standard_mutexes_stay_in_base():
    findings, used = [], set()
    for path in sources():
        name = str(path.relative_to(ROOT))
        for match in _STANDARD.finditer(blank_out(path.read_text())):
            exception = _exception_of(name)
            used.add(exception)
            if exception is None:
                findings.append(f"{name}: {match.group()}: use base/mutex.h")
    findings += [f"{name}: exception no longer needed" for name in set(EXCEPTIONS) - used]
    require_none(findings, "mutexes without a rank")


def test_the_check_itself_can_fail():
    for text in ("std::mutex mutex_;", "std::shared_mutex m;", "const std::lock_guard lock(m);"):
        if not _STANDARD.search(text):
            raise Failure(f"'{text}' is overlooked")
    require_equal(listed_ranks("`kNot`\n\n1. x: **`kPage`**, kNo\n2. y: `kTrash`\n\n`kNot`\n"),
                  ["kPage", "kTrash"])
