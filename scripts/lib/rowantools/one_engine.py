# SPDX-License-Identifier: GPL-2.0-only
"""Tests of MySQL's suites that name InnoDB for some of their tables and leave others to the default
engine, although they are about one engine: a foreign key between two tables, a partition exchanged
with a table. With another default engine they would test two. tests/suites/one_engine.txt lists
them; what runs is a copy in which the tables that name InnoDB name Rowan."""
import re
import shutil

from .suite_lists import FOLDER

_ENGINE = re.compile(r"(?<!show )(engine\w*\s*=?\s*'?)innodb\b", re.IGNORECASE)
_NOT_TABLES = re.compile(r"tablespace|undo|logfile", re.IGNORECASE)


def listed(group_arguments):
    """The listed tests of the suites that `--suite=...` among a group's arguments names."""
    suites = {suite for argument in group_arguments if argument.startswith("--suite=")
              for suite in argument.split("=", 1)[1].split(",")}
    lines = (FOLDER / "one_engine.txt").read_text().splitlines()
    names = [line for line in lines if line and not line.startswith("#")]
    return [name for name in names if name.split(".")[0] in suites]


def renamed(text):
    """`text` of a test or of its result with Rowan where a table's engine is InnoDB."""
    return "".join(line if _NOT_TABLES.search(line) else _ENGINE.sub(r"\1ROWAN", line)
                   for line in text.splitlines(keepends=True))


def copy_tests(names, tree, folder):
    """Puts changed copies of tests into `folder`; the argument of mysql-test-run.pl for them."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in names:
        suite, test = name.split(".")
        source = tree if suite == "main" else tree / "suite" / suite
        target = folder / suite
        for part in ("t", "r"):
            (target / part).mkdir(parents=True, exist_ok=True)
            found = source / part
            for file in [*found.glob(f"{test}.*"), *found.glob(f"{test}-*.opt")]:
                text = file.read_text(encoding="latin-1")
                (target / part / file.name).write_text(renamed(text), encoding="latin-1")
        for file in source.iterdir():
            if suite != "main" and file.is_file():
                shutil.copy(file, target)
    return f"--suite={','.join(sorted(str(suite) for suite in folder.iterdir()))}"
