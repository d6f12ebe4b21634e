# SPDX-License-Identifier: GPL-2.0-only
"""The line of folders: an include may only point to the left, and some headers have one home.

    base -> io -> wal -> buffer -> space -> storage -> btree -> mvcc -> engine
         -> plugin | bench | examples | tools

engine/ is a door: what stands to its right sees base/ and engine/ only, and of engine/ not the
parts. Only bench/parts/ measures parts and looks behind the door. Folders within a folder have a
direction of their own (INNER).
"""
import re
import subprocess
from pathlib import Path

from rowantools.cpp_source import CODE_FOLDERS, LAYERS, folder_of, includes_of
from rowantools.cpp_source import sources
from rowantools.line_tests import Failure, require_none
from rowantools.paths import ROOT
from rowantools.style_figures import two_way_pairs

# Headers that belong to one folder: pattern -> (folders, what to do instead).
HOMES = [
    (re.compile(r"^spdlog/"), {"base"}, "log through base/logging.h"),
    (re.compile(r"^(liburing\.h|liburing/|libaio\.h|fcntl\.h|linux/|sys/)"), {"io"},
     "files and devices belong to io/"),
    (re.compile(r"^(mysql/|mysqld_error\.h|my_[a-z_]+\.h|sql/|mysql[._])"), {"plugin"},
     "server headers belong to plugin/"),
]
# (file, header): reason. What may stand outside of its home.
EXCEPTIONS = {
    ("buffer/frame_arena.cc", "sys/mman.h"): "the arena maps memory, not files",
    ("buffer/huge_memory.cc", "sys/mman.h"): "maps memory, not files",
    ("bench/parts/node_search_bench.cc", "sys/mman.h"): "maps cold memory to measure on",
    ("base/futex.cc", "linux/futex.h"): "committers and lock waiters sleep on a word",
    ("base/futex.cc", "sys/syscall.h"): "the futex call has no other name",
}


# What lies behind the door of engine/: for engine/ itself and for tests.
PARTS_OF_ENGINE = "engine/engine_impl.h"


# Folders within folders: place -> (folders to the left it may include, places in its own folder).
BELOW_STORAGE = frozenset(LAYERS[:LAYERS.index("storage")])
BELOW_ENGINE = frozenset(LAYERS[:LAYERS.index("engine")])
INNER = {
    "buffer/page": (frozenset(LAYERS[:LAYERS.index("buffer")]), {"buffer/page"}),
    "mvcc/txn": (frozenset({"base"}), {"mvcc/txn"}),
    "mvcc/lock": (frozenset({"base"}), {"mvcc/txn", "mvcc/lock"}),
    "mvcc/undo": (BELOW_STORAGE, {"mvcc/txn", "mvcc/undo"}),
    "mvcc/purge": (BELOW_STORAGE, {"mvcc/txn", "mvcc/undo", "mvcc/purge"}),
    "mvcc": (BELOW_STORAGE, {"mvcc/txn", "mvcc/lock", "mvcc/undo", "mvcc/purge", "mvcc"}),
    "engine/sort": (BELOW_ENGINE, {"engine/sort"}),
    "engine/catalog": (BELOW_ENGINE, {"engine/sort", "engine/catalog"}),
    "engine/statistics": (BELOW_ENGINE, {"engine/catalog", "engine/statistics"}),
    "engine/report": (BELOW_ENGINE, {"engine/catalog", "engine/report"}),
    "engine": (BELOW_ENGINE, {"engine/sort", "engine/catalog", "engine/statistics",
                              "engine/report", "engine"}),
    "engine/build": (BELOW_ENGINE, {"engine/sort", "engine/catalog", "engine", "engine/build"}),
    "plugin/compat": (frozenset(), {"plugin/compat"}),
    "plugin/codec": (frozenset({"base", "engine"}), {"plugin/compat", "plugin/codec"}),
    "plugin/fulltext": (frozenset({"base", "engine"}), {"plugin/codec", "plugin/fulltext"}),
    "plugin/server": (frozenset({"base", "engine"}),
                      {"plugin/compat", "plugin/codec", "plugin/server"}),
    "plugin/program": (frozenset({"base", "engine"}),
                       {"plugin/compat", "plugin/codec", "plugin/server", "plugin/program"}),
    "plugin/handler": (frozenset({"base", "engine"}),
                       {"plugin/compat", "plugin/codec", "plugin/fulltext", "plugin/server",
                        "plugin/handler"}),
    "plugin/partition": (frozenset({"base", "engine"}),
                         {"plugin/compat", "plugin/codec", "plugin/server", "plugin/handler",
                          "plugin/partition"}),
    "plugin/blocks": (frozenset({"base", "engine"}),
                      {"plugin/compat", "plugin/codec", "plugin/server", "plugin/program",
                       "plugin/handler", "plugin/blocks"}),
    "plugin/pushdown": (frozenset({"base", "engine"}),
                        {"plugin/compat", "plugin/codec", "plugin/server", "plugin/program",
                         "plugin/handler", "plugin/blocks", "plugin/pushdown"}),
}


def _inner_place(relative):
    """The folder of a file, as INNER names it."""
    return str(Path(relative).parent)


def _breaks_direction(place, target):
    """Whether INNER forbids a file in `place` to include `target`."""
    if place not in INNER:
        return False
    left, own = INNER[place]
    top = target.split("/")[0]
    return _inner_place(target) not in own if top == place.split("/")[0] else \
        top in LAYERS and top not in left


def _allowed(folder):
    """The folders a file in `folder` (a top-level one, or bench/parts) may include."""
    if folder == "bench/parts":
        return set(LAYERS[:LAYERS.index("plugin")]) | {"bench"}
    if folder in ("plugin", "bench", "examples", "tools"):
        return {"base", "engine", folder}
    return set(LAYERS[:LAYERS.index(folder) + 1])


def _place_in_line(path):
    """The folder whose rule holds for this file."""
    in_parts = path.relative_to(ROOT).parts[:2] == ("bench", "parts")
    return "bench/parts" if in_parts else folder_of(path)


def _all_includes():
    for path in sources():
        for include in includes_of(path.read_text()):
            yield path, include


def _place(path, include):
    return f"{path.relative_to(ROOT)}:{include.line}"


def test_includes_point_left():
    findings = []
    for path, include in _all_includes():
        target = include.target.split("/")[0]
        if target in CODE_FOLDERS and target not in _allowed(_place_in_line(path)) and \
                (ROOT / include.target).exists():
            findings.append(f"{_place(path, include)}: {_place_in_line(path)}/ must not include "
                            f"{include.target}")
    require_none(findings, "includes against the line of folders")


def test_folders_within_folders_keep_their_direction():
    findings = []
    for path, include in _all_includes():
        place = _inner_place(path.relative_to(ROOT))
        if _breaks_direction(place, include.target) and (ROOT / include.target).exists():
            findings.append(f"{_place(path, include)}: {place}/ must not include {include.target}")
    require_none(findings, "includes against the direction within a folder")


def test_the_parts_of_an_instance_stay_in_engine():
    findings = [f"{_place(path, include)}: {include.target} is not for {folder_of(path)}/"
                for path, include in _all_includes()
                if include.target == PARTS_OF_ENGINE and folder_of(path) != "engine"]
    require_none(findings, "includes of what lies behind the door")


def test_no_folder_pair_includes_each_other():
    require_none([f"{one} <-> {other}" for one, other in two_way_pairs()], "two-way folder pairs")


def test_nothing_includes_tests():
    findings = [f"{_place(path, include)}: {include.target}" for path, include in _all_includes()
                if include.target.startswith(("tests/", "gtest/", "gmock/"))]
    require_none(findings, "production code that includes tests")


def test_own_includes_name_their_folder_and_exist():
    findings = []
    for path, include in _all_includes():
        own = include.target.split("/")[0] in CODE_FOLDERS
        if own and include.quoted and not (ROOT / include.target).is_file():
            findings.append(f"{_place(path, include)}: {include.target} does not exist")
        if not own and include.quoted and folder_of(path) != "plugin":
            findings.append(f"{_place(path, include)}: write \"folder/{include.target}\" for a "
                            "file of ours, <...> for any other")
    require_none(findings, "includes that do not name a file of ours")


def test_headers_stay_at_home():
    findings, used = [], set()
    for path, include in _all_includes():
        for pattern, homes, advice in HOMES:
            if not pattern.match(include.target) or folder_of(path) in homes:
                continue
            key = (str(path.relative_to(ROOT)), include.target)
            used.add(key)
            if key not in EXCEPTIONS:
                findings.append(f"{_place(path, include)}: {include.target}: {advice}")
    findings += [f"{name}: exception for {header} no longer needed"
                 for name, header in EXCEPTIONS if (name, header) not in used]
    require_none(findings, "headers outside of their home")


def test_no_include_twice():
    findings = []
    for path in sources():
        seen = set()
        for include in includes_of(path.read_text()):
            if include.target in seen and path.suffix != ".def":
                findings.append(f"{_place(path, include)}: {include.target} again")
            seen.add(include.target)
    findings = [text for text in findings if ".def" not in text]
    require_none(findings, "includes written twice")


def test_libraries_link_along_the_line():
    """CMake's link order repeats the line of folders."""
    findings = []
    for folder in LAYERS:
        text = (ROOT / folder / "CMakeLists.txt").read_text()
        for name in re.findall(r"rowan_library\(([^)]*)\)", text):
            own, *others = name.split()
            findings += [f"{folder}/CMakeLists.txt: {own} links {other}" for other in others
                         if other not in _allowed(own)]
    require_none(findings, "libraries that link against the line")


def test_the_check_itself_can_fail():
    if "wal" in _allowed("io") or "plugin" in _allowed("bench") or "io" not in _allowed("wal") or \
            "mvcc" in _allowed("plugin") or "wal" in _allowed("bench") or \
            "wal" not in _allowed("bench/parts"):
        raise Failure("the line of folders is not what it should be")
    if _breaks_direction("mvcc/lock", "mvcc/txn/txn.h") or \
            not _breaks_direction("mvcc/lock", "buffer/frame.h") or \
            not _breaks_direction("buffer/page", "buffer/frame.h") or \
            not _breaks_direction("mvcc/undo", "mvcc/row/row_writer.h"):
        raise Failure("the direction within folders is not what it should be")
    probe = includes_of('#include "mvcc/txn/txn.h"\n  # include <sys/mman.h>\n// #include "x"\n')
    if [(include.target, include.quoted) for include in probe] != \
            [("mvcc/txn/txn.h", True), ("sys/mman.h", False)]:
        raise Failure("includes are not recognised")
    tracked = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True)
    if tracked.returncode == 0 and not sources():
        raise Failure("no sources found")
