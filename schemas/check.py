#!/usr/bin/env python3
"""Holds every example against its schema: valid ones must fit, invalid ones must not.

Needs the Debian package python3-jsonschema. The tests of BrakeWire hold the same examples against
our decoder, so that schemas and decoder agree.
"""

import json
import pathlib
import sys
import warnings

# Newer versions prefer another library for references, which Debian 12 does not have.
warnings.simplefilter("ignore", DeprecationWarning)
from jsonschema import Draft202012Validator, RefResolver  # noqa: E402

ROOT = pathlib.Path(__file__).parent
EVENTS = ["session", "crash", "soft_error", "ad_event"]
# What is not JSON has no schema, and a schema cannot say that the apps of an array are one.
BEYOND = ["bad_json", "empty", "wrong_app"]
SCHEMAS = {path.name: json.loads(path.read_text()) for path in ROOT.glob("*.schema.json")}


def fits(name, value):
    schema = SCHEMAS[f"{name}.schema.json"]
    resolver = RefResolver(base_uri=schema["$id"], referrer=schema, store=SCHEMAS)
    return Draft202012Validator(schema, resolver=resolver).is_valid(value)


def check_valid(path, name):
    if not fits(name, json.loads(path.read_text())):
        yield f"{path.relative_to(ROOT)} does not fit {name}"


def check_invalid(path):
    reason = path.parent.name
    if reason in BEYOND:
        return
    # A folder is named by a reason, for events, or by the schema that its files must not fit.
    for name in [reason] if f"{reason}.schema.json" in SCHEMAS else EVENTS:
        if fits(name, json.loads(path.read_text())):
            yield f"{path.relative_to(ROOT)} fits {name}"


def check_decisions():
    """A decision is what the listener makes a control record of."""
    for path in sorted((ROOT / "examples/valid/control").glob("*.json")):
        record = json.loads(path.read_text())
        asked = {key: record[key] for key in record if key not in ("v", "by", "at")}
        if not fits("decision", asked):
            yield f"{path.relative_to(ROOT)} fits no decision"
    for path in sorted((ROOT / "examples").glob("*/decision/*.json")):
        asked = json.loads(path.read_text())
        record = {"v": 1, "by": "anna", "at": 1764500000000} | asked
        if fits("decision", asked) and not fits("control", record):
            yield f"{path.relative_to(ROOT)} makes no control record"


def main():
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)
    problems = []
    for path in sorted((ROOT / "policies").glob("*.json")):
        problems += check_valid(path, "policy")
    for path in sorted((ROOT / "examples/valid").glob("*/*.json")):
        problems += check_valid(path, path.parent.name)
    for path in sorted((ROOT / "examples/invalid").glob("*/*.json")):
        problems += check_invalid(path)
    problems += check_decisions()
    print("\n".join(problems) or "all examples agree with their schemas")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
