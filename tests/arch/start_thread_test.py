# SPDX-License-Identifier: GPL-2.0-only
"""Threads are made by base/start_thread.h, which says when the system refuses one."""
import re

from rowantools.cpp_source import blank_out, sources
from rowantools.line_tests import Failure, require_none
from rowantools.paths import ROOT

# A std::thread made of something; one that is declared empty or named as a type passes.
_MADE = re.compile(r"\bstd::(?:jthread\b|async\b|thread\s*(?:\w+\s*)?[({]\s*[^\s)}])")

ALLOWED = ("base/start_thread.cc", "bench/")


def test_threads_are_started_in_one_place():
    findings = []
    for path in sources():
        name = str(path.relative_to(ROOT))
        if name.startswith(ALLOWED):
            continue
        for match in _MADE.finditer(blank_out(path.read_text())):
            findings.append(f"{name}: {match.group()}: use StartThread of base/start_thread.h")
    require_none(findings, "threads whose refusal would end the process")


def test_the_check_itself_can_fail():
    for text in ("std::thread(work)", "std::thread one([] {});", "std::async(work)"):
        if not _MADE.search(text):
            raise Failure(f"'{text}' is overlooked")
    for text in ("std::vector<std::thread> threads;", "std::thread thread_;", "std::thread();"):
        if _MADE.search(text):
            raise Failure(f"'{text}' makes no thread")
