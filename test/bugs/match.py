#!/usr/bin/env python3
"""Checks that every planted bug still finds what it changes, and what it compiles: a source that it
changes among it.

Planting takes a compiler and minutes; this takes neither, so that a change that leaves a bug behind
is seen in the ordinary run. Prints what does not match; its exit status says whether anything.
"""

import pathlib
import sys

from mutate import BugError, mutated, parse


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
    return None


def main():
    source = pathlib.Path(sys.argv[1])
    faults = {path: fault(path, source) for path in sorted(source.glob("test/bugs/*.bug"))}
    for path, what in faults.items():
        if what:
            print(f"{path.relative_to(source)}: {what}")
    print(f"{len(faults)} bugs, {sum(map(bool, faults.values()))} do not match")
    return 1 if not faults or any(faults.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
