# SPDX-License-Identifier: GPL-2.0-only
"""The result of a measurement: one JSON document for every command, checked against a schema, and
written after each run, so that what was measured is there whatever ends the driver."""
import datetime
import json
import os
import time
from pathlib import Path

from ..paths import UserError
from .columns import COLUMNS
from .machine import describe

_SAVE_INTERVAL_S = 1.0
FORMAT, VERSION = "rowan-bench-result", 1
_SCHEMA = Path(__file__).with_name("result.schema.json")
RUNNING, COMPLETE, INTERRUPTED, FAILED = "running", "complete", "interrupted", "failed"


class Result:
    """A document that grows run by run. `path` is where it is kept."""

    def __init__(self, path, command, arguments, options):
        self.path = Path(path)
        self._saved = 0.0
        self.document = {
            "format": FORMAT, "version": VERSION, "command": command, "arguments": arguments,
            "options": options, "state": RUNNING, "started": now(), "finished": None,
            "machine": describe(), "targets": [], "groups": [], "tests": [], "runs": [],
            "columns": [], "notes": []}

    def add_target(self, facts):
        self.document["targets"].append(facts)

    def add_group(self, name, title):
        self.document["groups"].append({"id": name, "title": title})

    def add_test(self, name, group, title, main, **more):
        """`main` names the metric that the test is judged by."""
        self.document["tests"].append(dict({"id": name, "group": group, "title": title,
                                            "main": main}, **more))

    def set_columns(self, names):
        """The metrics of this command's tables, in their order."""
        self.document["columns"] = list(names)

    def note(self, text):
        if text not in self.document["notes"]:
            self.document["notes"].append(text)

    def add_run(self, run):
        """One run: test, target, round, seconds, metrics and what else there is of it. It is in the
        file at once, or with the next one where runs are shorter than a second."""
        self.document["runs"].append(run)
        if time.monotonic() - self._saved >= _SAVE_INTERVAL_S:
            self.save()

    def close(self, state):
        self.document["state"], self.document["finished"] = state, now()
        self.save()

    def save(self):
        """Replaces the file as a whole: a reader never sees half of it. UserError where it cannot
        be written; what was saved before is still there."""
        partial = partial_of(self.path)
        try:
            partial.write_text(json.dumps(self.document, indent=1) + "\n")
            os.replace(partial, self.path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise UserError(f"{self.path} cannot be written: {error.strerror}")
        self._saved = time.monotonic()


def partial_of(path):
    """Where a result is written before it takes its name; it is there while it is measured."""
    return path.with_name(path.name + ".partial")


def reserve(path):
    """Makes the partial file of a result, so that a folder that cannot be written is told before
    anything is measured."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial_of(path).touch()
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}")


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def problem_in(document):
    """What is wrong with a document, as one sentence, or nothing."""
    import jsonschema
    validator = jsonschema.Draft202012Validator(json.loads(_SCHEMA.read_text()))
    error = next(iter(sorted(validator.iter_errors(document), key=lambda error: list(error.path))),
                 None)
    if error is None:
        return ""
    place = "/".join(str(part) for part in error.absolute_path)
    return f"{place or 'the document'}: {error.message}"


def _unknown_metric(document):
    """A sentence where tables would need a column that this driver does not have."""
    names = {*document["columns"], *(test["main"] for test in document["tests"])}
    unknown = sorted(names - set(COLUMNS))
    return f"this driver has no column {', '.join(unknown)}" if unknown else ""


def read(path):
    """A document that is known to be valid; UserError otherwise."""
    try:
        document = json.loads(Path(path).read_text())
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}")
    except ValueError as error:
        raise UserError(f"{path} is not JSON: {error}")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UserError(f"{path} is not a result of scripts/bench")
    if document.get("version") != VERSION:
        raise UserError(f"{path} has version {document.get('version')}; this driver reads "
                        f"{VERSION}")
    problem = problem_in(document) or _unknown_metric(document)
    if problem:
        raise UserError(f"{path}: {problem}")
    return document
