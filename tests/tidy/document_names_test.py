# SPDX-License-Identifier: GPL-2.0-only
"""What documents quote as code exists in the sources: types and functions in CamelCase, constants,
names of files, system and status variables.

Names of others (MySQL's, Linux's, of examples) stand in foreign_names.txt, each with its owner; one
that no document names any more is an offence too. Comments of sources do not count as sources.
"""
import re
from pathlib import Path

from rowantools.line_tests import require_equal, require_none
from rowantools.paths import ROOT

FOREIGN = Path(__file__).with_name("foreign_names.txt")
_FOLDERS = ("base", "io", "wal", "buffer", "space", "storage", "btree", "mvcc", "engine", "plugin",
            "bench", "examples", "tools", "tests", "scripts", "cmake", "docs")
_CPP = {".cc", ".h", ".def", ".in"}
_SOURCES = _CPP | {".py", ".lua", ".sh", ".cmake", ".txt", ".map", ""}
_QUOTE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_NAME = re.compile(r"(?<![\w<$])(?:[A-Z][a-z0-9]+[A-Z]\w*|k[A-Z]\w+|[Rr]owan_\w+|ROWAN_\w+)"
                   r"(?![\w<>*])")
_FILE = re.compile(r"(?<![\w<>*/.-])(?:[\w-]+/)*([\w-]+\.(?:h|cc|py|def|lua|md))(?!\w)")
_SETTING = re.compile(r"MYSQL_(?:SYSVAR|THDVAR)_\w+\(\s*(\w+)")
_LITERAL = re.compile(r'"([a-z_]+)"')
_TEST_PROGRAM = re.compile(r"rowan_(\w+)_test")


def _read(path):
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def source_words(files):
    """Of the sources: all words, the names of system variables, those of status variables."""
    words, settings, figures = set(), set(), set()
    for path in files:
        text = _read(path)
        if path.suffix in _CPP:
            text = re.sub(r"//[^\n]*", "", text)
            settings |= set(_SETTING.findall(text))
            figures |= set(_LITERAL.findall(text))
        words |= set(re.findall(r"\w+", text))
    return words, settings, figures


def quoted_names(text):
    """What a document quotes: names, and files without their folders."""
    names, files = set(), set()
    for quote in _QUOTE.findall(text):
        names |= set(_NAME.findall(quote))
        files |= set(_FILE.findall(quote))
    return names, files


def is_known(name, words, settings, figures):
    if name.startswith("rowan_"):
        program = _TEST_PROGRAM.fullmatch(name)
        return (name in words or name[len("rowan_"):] in settings
                or bool(program and (ROOT / "tests" / program.group(1)).is_dir()))
    if name.startswith("Rowan_"):
        return name.endswith("_") or name[len("Rowan_"):] in figures  # ...: a group of names
    return name in words


def _foreign():
    lines = [line.split("#")[0].strip() for line in _read(FOREIGN).splitlines()]
    return {line for line in lines if line}


def _tree():
    return [path for folder in _FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]


def test_documents_name_what_exists():
    tree = _tree()
    words, settings, figures = source_words(
        path for path in tree if path.suffix in _SOURCES and path.suffix != ".md"
        and path != FOREIGN and path != Path(__file__).resolve())
    files = {path.name for path in tree} | {path.name for path in ROOT.glob("*.md")}
    unused, findings = _foreign(), []
    for path in sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md")):
        names, quoted_files = quoted_names(_read(path))
        missing = {name for name in names if not is_known(name, words, settings, figures)}
        missing |= quoted_files - files
        findings += [f"{path.relative_to(ROOT)}: {name} is not in the sources"
                     for name in sorted(missing - _foreign())]
        unused -= missing
    findings += [f"{FOREIGN.name}: {name} is named nowhere, or is ours" for name in sorted(unused)]
    require_none(findings, "documents that name what is not there")
    require_equal(len(settings) > 20, True, f"{len(settings)} system variables were read")


def test_the_check_itself():
    names, files = quoted_names("`Tree::InsertAt` in `btree/tree.h`, SomeProse\n```\nkMax, a/b.cc\n"
                                "```\n`rowan_page_size`, `space_<id>.h`, `Rowan_log_writes`")
    require_equal(names, {"InsertAt", "kMax", "rowan_page_size", "Rowan_log_writes"})
    require_equal(files, {"tree.h", "b.cc"})
    words = {"InsertAt", "log_writes", "page_size"}
    settings, figures = {"page_size"}, {"log_writes"}
    for name, known in (("InsertAt", True), ("InsertImage", False), ("rowan_page_size", True),
                        ("rowan_log_writes", False), ("Rowan_log_writes", True),
                        ("Rowan_page_size", False), ("rowan_mvcc_test", True),
                        ("rowan_no_such_test", False)):
        require_equal(is_known(name, words, settings, figures), known, name)
