#!/usr/bin/env python3
"""Checks that every planted bug still finds what it changes, what it compiles, a source that it
changes among it, and a test case that it runs.

Planting takes a compiler and minutes; this takes neither, so that a change that leaves a bug behind
is seen in the ordinary run. Prints what does not match; its exit status says whether anything.
"""

import pathlib
import re
import shlex
import sys

from mutate import BugError, case_filter, mutated, parse

NAME = re.compile(r'^TEST_CASE\w*\(\s*((?:"(?:[^"\\\n]|\\.)*"\s*)+)', re.M)


def selects(bug, source):
    """Whether the names in the sources, or theirs, hold one that the bug's test is called by."""
    options = shlex.split(bug["run"])[1:]
    files = [o.replace("--source-file", "--test-case") for o in options if "--source-file=" in o]
    cases = [o for o in options if "--test-case=" in o]
    if not (files or cases) or len(files) + len(cases) < len(options):
        return False
    is_meant = case_filter(files) if files else lambda name: True
    is_selected = case_filter(cases) if cases else lambda name: True
    if not (is_meant and is_selected):
        return False
    for path in filter(is_meant, bug["source"]):
        for words in NAME.findall((source / path).read_text()):
            if is_selected("".join(re.findall(r'"([^"\n]*)"', words))):
                return True
    return False


def fault(path, source):
    """What is wrong with a bug file, or None."""
    try:
        bug = parse(path.read_text())
        mutated((source / bug["file"]).read_text(), bug["from"], bug["to"])
    except (BugError, OSError) as e:
        return str(e)
    missing = [name for name in bug["source"] if not (source / name).is_file()]
    if missing:
        return f"no such source: {', '.join(missing)}"
    if bug["file"].endswith(".cpp") and bug["file"] not in bug["source"]:
        return f"what it changes is not compiled: add source: {bug['file']}"
    if not selects(bug, source):
        return f"no test case in its sources is called so: {bug['run']}"
    return None


def main():
    source = pathlib.Path(sys.argv[1])
    bugs = sorted([*source.glob("test/bugs/*.bug"), *source.glob("test/simulation/bugs/*.bug")])
    faults = {path: fault(path, source) for path in bugs}
    for path, what in faults.items():
        if what:
            print(f"{path.relative_to(source)}: {what}")
    print(f"{len(faults)} bugs, {sum(map(bool, faults.values()))} do not match")
    return 1 if not faults or any(faults.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
