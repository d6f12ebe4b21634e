# SPDX-License-Identifier: GPL-2.0-only
"""The house rules a program can check: sizes, columns, licence lines, header guards, banned words.

Each test lists every offence with file and line. Exceptions live in the tables below, each with
its reason; an exception that is no longer needed is an offence too.
"""
import re
import subprocess

from rowantools.cpp_source import (CODE_FOLDERS, blank_out, functions_of,
                                   sources)
from rowantools.line_tests import Failure, require_equal, require_none
from rowantools.paths import ROOT

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
TEST_LINES_MAX = 100  # a test that sets up several threads reads better in one piece
COLUMNS_MAX = 100
SPDX = "SPDX-License-Identifier: GPL-2.0-only"

# path: reason. Files that may be longer than the limit.
LONG_FILES = {}
# "path:function": reason. Functions that may be longer than the limit.
LONG_FUNCTIONS = {}

_CPP = {".cc", ".h", ".c"}
_SCRIPTS = {".py", ".sh", ".lua"}
_OWN_TEXT = _CPP | _SCRIPTS | {".cmake", ".md", ".txt", ".def"}
# Put together from halves, so that this file does not offend against itself.
_BANNED = {
    "TO" "DO": "finish it, or refuse it with a clear error",
    "FIX" "ME": "fix it",
    "XX" "X": "say what is meant",
    "/wo" "rk/": "no machine's paths in the project",
    "/tmp/" "build-": "no machine's paths in the project",
    "design-" "anchors": "not a file of this project",
    "handler-" "facts": "not a file of this project",
    "using namespace " "std": "name what you use",
}


def _tracked():
    """Files of the checkout that git knows or would take, without the licence text."""
    output = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"],
                            capture_output=True, text=True, check=True).stdout
    names = [name for name in output.splitlines() if name != "LICENSE"]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def _is_script(path):
    if path.suffix in _SCRIPTS:
        return True
    if path.suffix:
        return False
    with path.open("rb") as stream:
        return stream.read(2) == b"#!"


def _own_text():
    return [path for path in _tracked() if path.suffix in _OWN_TEXT or _is_script(path)]


def _cpp():
    return [path for path in _tracked() if path.suffix in _CPP]


def _name(path):
    return str(path.relative_to(ROOT))


def test_files_are_short():
    findings, used = [], set()
    for path in _cpp() + [path for path in _tracked() if _is_script(path)]:
        lines = len(path.read_text().splitlines())
        if lines > FILE_LINES_MAX:
            used.add(_name(path))
            if _name(path) not in LONG_FILES:
                findings.append(f"{_name(path)}: {lines} lines, at most {FILE_LINES_MAX}")
    findings += [f"{name}: exception no longer needed" for name in set(LONG_FILES) - used]
    require_none(findings, "files too long")


def test_functions_fit_a_screen():
    findings, used = [], set()
    for path in _cpp():
        for function in functions_of(path.read_text()):
            key = f"{_name(path)}:{function.name}"
            limit = TEST_LINES_MAX if _name(path).startswith("tests/") else FUNCTION_LINES_MAX
            if function.lines > limit:
                used.add(key)
                if key not in LONG_FUNCTIONS:
                    findings.append(f"{_name(path)}:{function.first_line}: {function.name} has "
                                    f"{function.lines} lines, at most {FUNCTION_LINES_MAX}")
    findings += [f"{name}: exception no longer needed" for name in set(LONG_FUNCTIONS) - used]
    require_none(findings, "functions too long")


def test_lines_fit_the_columns():
    findings = []
    for path in _cpp() + [path for path in _tracked() if _is_script(path)]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if len(line) > COLUMNS_MAX:
                findings.append(f"{_name(path)}:{number}: {len(line)} columns, "
                                f"at most {COLUMNS_MAX}")
    require_none(findings, "lines too long")


def test_every_source_names_its_licence():
    findings = []
    for path in _own_text():
        if path.suffix in (".md", ".txt", ".def") and path.name != "CMakeLists.txt":
            continue
        head = path.read_text().splitlines()[:3]
        if not any(SPDX in line for line in head):
            findings.append(f"{_name(path)}: no '{SPDX}' in its first lines")
    require_none(findings, "files without a licence line")


def test_headers_are_guarded():
    findings = [f"{_name(path)}: no #pragma once" for path in _cpp()
                if path.suffix == ".h" and "#pragma once" not in path.read_text()]
    require_none(findings, "headers without a guard")


def test_no_banned_words():
    findings = []
    for path in _own_text():
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for word, advice in _BANNED.items():
                if re.search(rf"(?<!\w){re.escape(word)}", line):
                    findings.append(f"{_name(path)}:{number}: '{word}': {advice}")
    require_none(findings, "banned words")


_CODE_PATH = re.compile(r"`((?:base|io|wal|buffer|space|storage|btree|mvcc|engine|plugin|bench"
                        r"|examples|tools|tests|docs|scripts)/[A-Za-z0-9_./-]+)`")


def test_documents_name_files_that_exist():
    """`folder/name` in a document is a file, with or without its ending, or a test of it."""
    offences = []
    for path in (path for path in _own_text() if path.suffix == ".md"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for name in _CODE_PATH.findall(line):
                if not any((ROOT / candidate).exists() for candidate in
                           (name, f"{name}.h", f"{name}.cc", f"tests/{name}")):
                    offences.append(f"{_name(path)}:{number}: {name} does not exist")
    require_none(offences, "documents that name what is not there")


def test_text_is_clean():
    findings = []
    for path in _own_text():
        text = path.read_text()
        if text and not text.endswith("\n"):
            findings.append(f"{_name(path)}: no line break at its end")
        for number, line in enumerate(text.splitlines(), 1):
            if line != line.rstrip() and path.suffix != ".md":
                findings.append(f"{_name(path)}:{number}: blanks at the end of the line")
            if "\t" in line and path.suffix in _CPP | _SCRIPTS:
                findings.append(f"{_name(path)}:{number}: a tab")
    require_none(findings, "untidy text")


# docs/decisions/0003-early-returns.md
_CHAIN = re.compile(r"\bif \((\w*status\w*)\.ok\(\)(?: &&[^;{]*)?\) \1 = "
                    r"|\breturn status\.ok\(\) \? [^:;]*\([^;]* : status;")


def test_errors_are_passed_on_by_early_returns():
    findings = [f"{_name(path)}:{number}: {line.strip()}" for path in sources()
                for number, line in enumerate(path.read_text().splitlines(), 1)
                if _CHAIN.search(line)]
    require_none(findings, "chains of statuses")
    for chain in ("if (status.ok()) status = Next();", "return status.ok() ? Next() : status;"):
        if not _CHAIN.search(chain):
            raise Failure(f"not seen to be a chain: {chain}")


# path: reason. Sources that may keep a FunctionRef: it dies with what it refers to.
KEPT_REFERENCES = {
    "buffer/checkpoint.h": "a Round is one call's, which passes its parameter on",
    "btree/tree_check.cc": "Checker is a temporary of the call that passes its parameters on",
    "tests/base/function_ref_test.cc": "what it refers to lives as long",
}
_REFERENCE_ALIAS = re.compile(r"\busing (\w+) = FunctionRef<")


def _kept_references(text, aliases):
    """Lines with a variable or member that is a FunctionRef, by its name or by an alias."""
    names = "|".join([r"FunctionRef<[^;{}]*?>"] + sorted(aliases))
    kept = re.compile(r"(?:^|[;{}:])\s*(?:(?:const|static|mutable|inline|constexpr)\s+)*"
                      rf"(?:\w+::)*(?:{names})(?:\s+const)?\s+\w+\s*(?:;|=(?!=)|\{{|\(\s*\[)")
    return [text.count("\n", 0, match.end()) + 1 for match in kept.finditer(blank_out(text))]


def test_function_references_are_not_kept():
    """A FunctionRef is a parameter: one that is kept dangles, be it bound to a lambda at once."""
    texts = {path: path.read_text() for path in sources(CODE_FOLDERS + ("tests",))
             if _name(path) != "base/function_ref.h"}
    aliases = {alias for text in texts.values() for alias in _REFERENCE_ALIAS.findall(text)}
    findings = []
    unused = dict(KEPT_REFERENCES)
    for path, text in texts.items():
        lines = _kept_references(text, aliases)
        if lines and unused.pop(_name(path), None):
            continue
        findings += [f"{_name(path)}:{line}: a FunctionRef is kept" for line in lines]
    findings += [f"{name}: keeps no FunctionRef any more" for name in unused]
    require_none(findings, "references to functions that may be gone")
    for text, wanted in (
            ("void F() {\n  const Tree::Visit visit = [&] { return 1; };\n}\n", [2]),
            ("struct S {\n  FunctionRef<void(int, int)> call_;\n};\n", [2]),
            ("void F() {\n  G();\n  Visit visit{lambda};\n}\n", [3]),
            ("void F() {\n  FunctionRef<void()> visit([] {});\n}\n", [2]),
            ("using Visit = FunctionRef<void()>;\nvoid F(int a,\n       Visit visit) {\n}\n", []),
            ("void F(FunctionRef<bool()> done = {});\n  // Visit visit;\n", [])):
        require_equal(_kept_references(text, {"Visit"}), wanted, f"kept references of {text!r}")


def test_namespace_in_every_source():
    findings = [f"{_name(path)}: nothing in namespace rowan"
                for path in sources() if not re.search(r"\bnamespace rowan\b|\bint main\(",
                                                       path.read_text())
                and path.suffix == ".cc"
                and path.name != "plugin_descriptor.cc"]  # the server's macros stand outside
    require_none(findings, "sources outside of our namespace")


def test_the_counter_itself():
    """The function counter must see what it claims to see."""
    text = ("namespace a {\n// {\nstruct S {\n  S() : x_{1}, y_(2) {\n    f('{', \"}\");\n  }\n"
            "  int get() const { return x_; }\n  int x_{0};\n  int y_ = 1'000;\n};\n"
            "template <class T>\nauto f(T t) -> int {\n  auto g = [] {\n    return 1;\n  };\n"
            "  return g();\n}\nint table[] = {1, 2};\nenum class E { kA };\n}  // namespace a\n")
    found = [(function.name, function.lines) for function in functions_of(text)]
    require_equal(found, [("S", 3), ("get", 1), ("f", 7)], "functions of the sample")
    long_one = "void f() {\n" + "  g();\n" * FUNCTION_LINES_MAX + "}\n"
    if functions_of(long_one)[0].lines <= FUNCTION_LINES_MAX:
        raise Failure("a function over the limit was not seen")
