#!/usr/bin/env python3
"""Says what a run of tests cost: the ten slowest. Reads the JUnit files that CTest wrote.

Usage: report_tests.py PRESET=JUNIT...
"""

import pathlib
import sys
import xml.etree.ElementTree

SLOWEST = 10


def read(preset, path):
    """What ran: (preset, name, seconds) of each test."""
    root = xml.etree.ElementTree.parse(path).getroot()
    return [(preset, case.get("name"), float(case.get("time") or 0))
            for case in root.iter("testcase")]


def slowest(tests):
    """The lines that name the slowest tests, the slowest first."""
    worst = sorted(tests, key=lambda test: -test[2])[:SLOWEST]
    return [f"{seconds:7.1f} s  {name} ({preset})" for preset, name, seconds in worst]


def main(arguments):
    tests = []
    for argument in arguments:
        preset, _, path = argument.partition("=")
        if pathlib.Path(path).exists():
            tests += read(preset, path)
    if tests:
        print(f"== the slowest of {len(tests)} tests")
        print("\n".join(slowest(tests)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
