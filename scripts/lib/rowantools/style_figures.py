# SPDX-License-Identifier: GPL-2.0-only
"""scripts/style-figures: the figures of our own code that the house rules set bars for."""
import argparse
import statistics
import sys

from .cpp_source import CODE_FOLDERS, folder_of, functions_of, includes_of, sources
from .paths import run_main


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0


def two_way_pairs():
    """Folder pairs that include each other."""
    edges = set()
    for path in sources():
        own = folder_of(path)
        for include in includes_of(path.read_text()):
            target = include.target.split("/")[0]
            if target in CODE_FOLDERS and target != own:
                edges.add((own, target))
    return sorted({tuple(sorted(edge)) for edge in edges if edge[::-1] in edges})


def count():
    """A dictionary of all figures."""
    code, tests = sources(), sources(("tests",))
    lengths = {path: len(path.read_text().splitlines()) for path in code}
    functions = [(function, path) for path in code for function in functions_of(path.read_text())]
    sizes = [function.lines for function, _ in functions]
    test_lines = sum(len(path.read_text().splitlines())
                     for path in tests + sources(("tests",), (".py",)))
    code_lines = sum(lengths.values())
    per_folder = {folder: (len(paths), sum(lengths[path] for path in paths))
                  for folder in CODE_FOLDERS
                  for paths in [[path for path in code if folder_of(path) == folder]]}
    return {"files": len(code), "code_lines": code_lines, "test_lines": test_lines,
            "file_median": int(statistics.median(lengths.values())) if lengths else 0,
            "file_max": max(lengths.values(), default=0), "functions": len(functions),
            "function_median": int(statistics.median(sizes)) if sizes else 0,
            "function_p90": percentile(sizes, 0.9), "function_max": max(sizes, default=0),
            "two_way_pairs": two_way_pairs(), "per_folder": per_folder,
            "test_share": test_lines / code_lines if code_lines else 0.0,
            "longest_files": sorted(((n, str(p)) for p, n in lengths.items()), reverse=True)[:5],
            "longest_functions": sorted(((f.lines, f.name, str(p)) for f, p in functions),
                                        reverse=True)[:5]}


def main():
    argparse.ArgumentParser(prog="scripts/style-figures", description=__doc__).parse_args()
    figures = count()
    bars = [("file median", "file_median", "<= 150"), ("file max", "file_max", "<= 500"),
            ("function median", "function_median", ""), ("function p90", "function_p90", "<= 30"),
            ("function max", "function_max", "<= 70")]
    print(f"{figures['files']} files, {figures['code_lines']} lines of code, "
          f"{figures['functions']} functions, {figures['test_lines']} lines of tests")
    for title, key, bar in bars:
        print(f"{title:24} {figures[key]:6}   {bar}")
    print(f"{'two-way folder pairs':24} {len(figures['two_way_pairs']):6}   = 0")
    print(f"{'test lines / code lines':24} {figures['test_share']:6.2f}")
    for folder, (files, lines) in figures["per_folder"].items():
        print(f"  {folder:8} {files:4} files {lines:7} lines")
    for lines, path in figures["longest_files"]:
        print(f"  longest file     {lines:4}  {path}")
    for lines, name, path in figures["longest_functions"]:
        print(f"  longest function {lines:4}  {name}  {path}")
    return 0


if __name__ == "__main__":
    sys.exit(run_main(main, "style-figures"))
