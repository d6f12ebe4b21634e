# SPDX-License-Identifier: GPL-2.0-only
"""Two results of one command as one: version over version. A side of the comparison is a target of
one of the files; the older file's are the base."""
from ..paths import UserError
from .result import FORMAT, VERSION


def compare(before, after, before_name, after_name):
    """A result document in which each test has the sides `before` and `after`; for several targets
    one test a target."""
    if before["command"] != after["command"]:
        raise UserError(f"{before_name} is of {before['command']}, {after_name} of "
                        f"{after['command']}: nothing to compare")
    if before_name == after_name:
        before_name, after_name = f"{before_name} (1)", f"{after_name} (2)"
    names = [one["name"] for one in before["targets"]
             if one["name"] in {other["name"] for other in after["targets"]}]
    if not names:
        raise UserError(f"{before_name} and {after_name} have no target in common")
    tests = {test["id"] for test in after["tests"]}
    shared = [test for test in before["tests"] if test["id"] in tests]
    if not shared or not before["runs"] or not after["runs"]:
        raise UserError(f"{before_name} and {after_name} have no test in common that was run")
    return {"format": FORMAT, "version": VERSION, "command": "diff",
            "arguments": [before_name, after_name], "options": {}, "state": _state(before, after),
            "started": after["started"], "finished": after["finished"],
            "machine": after["machine"],
            "targets": [_side(before, names, before_name), _side(after, names, after_name)],
            "groups": [dict(group, id=f"{name}/{group['id']}", title=f"{name}: {group['title']}")
                       for name in names for group in before["groups"]],
            "tests": [dict(test, id=_of(name, test["id"], names),
                           group=f"{name}/{test['group']}",
                           title=_of(name, test["title"], names))
                      for name in names for test in shared],
            "runs": _runs(before, names, before_name) + _runs(after, names, after_name),
            "columns": before["columns"], "notes": _notes(before, after)}


def _state(before, after):
    states = {before["state"], after["state"]}
    return "complete" if states == {"complete"} else "interrupted"


def _side(document, names, title):
    """What the file's targets have in common, and which commit and machine it is of."""
    chosen = [one for one in document["targets"] if one["name"] in names]
    machine = document["machine"]
    settings = {f"{what} of {one['name']}" if len(chosen) > 1 else what: value
                for one in chosen for what, value in one["settings"].items()}
    settings.update({"commit": machine["commit"],
                     "plugin": machine.get("plugin") or "of the checkout",
                     "cores": str(machine["cores"]),
                     "cpu": machine["cpu"], "kernel": machine["kernel"],
                     "load at the start": str(machine["load"]),
                     "options": " ".join(document["arguments"])})
    return dict(chosen[0], name=title, engine=", ".join(one["engine"] for one in chosen),
                settings=settings, variables={})


def _of(name, title, names):
    return title if len(names) == 1 else f"{name}: {title}"


def _runs(document, names, side):
    return [dict(run, target=side, test=_of(run["target"], run["test"], names))
            for run in document["runs"] if run["target"] in names]


def _notes(before, after):
    notes = list(dict.fromkeys(before["notes"] + after["notes"]))
    if before["machine"]["cpu"] != after["machine"]["cpu"] or \
            before["machine"]["cores"] != after["machine"]["cores"]:
        notes.insert(0, "The two results are of different machines: absolute figures do not "
                     "compare.")
    else:
        notes.insert(0, "The two sides were not measured alternately: a machine that was busier "
                     "for one of them shows as a difference. Compare their common base first.")
    return notes
