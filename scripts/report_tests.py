#!/usr/bin/env python3
"""Says what a run of tests cost: the ten slowest, and how many planted bugs did not run. Reads the
JUnit files that CTest wrote.

Usage: report_tests.py PRESET=JUNIT...
"""

import pathlib
import sys
import typing
import xml.etree.ElementTree

SLOWEST = 10
ANSWERED = "found before, built from the same"  # what test/bugs/mutate.py says then


class Test(typing.NamedTuple):
    preset: str
    name: str
    seconds: float
    output: str


def read(preset, path):
    """What ran."""
    root = xml.etree.ElementTree.parse(path).getroot()
    return [Test(preset, case.get("name"), float(case.get("time") or 0),
                 case.findtext("system-out") or "") for case in root.iter("testcase")]


def slowest(tests):
    """The lines that name the slowest tests, the slowest first."""
    worst = sorted(tests, key=lambda test: -test.seconds)[:SLOWEST]
    return [f"{test.seconds:7.1f} s  {test.name} ({test.preset})" for test in worst]


def bugs(tests):
    """The line that says how many planted bugs ran."""
    planted = [test for test in tests if test.name.startswith("bugs.") and test.name != "bugs.tool"]
    answered = sum(ANSWERED in test.output for test in planted)
    if planted:
        yield (f"== planted bugs and their controls: {len(planted) - answered} ran, {answered} "
               "kept their verdict")


def main(arguments):
    tests = []
    for argument in arguments:
        preset, _, path = argument.partition("=")
        if pathlib.Path(path).exists():
            tests += read(preset, path)
    if tests:
        print(f"== the slowest of {len(tests)} tests")
        print("\n".join([*slowest(tests), *bugs(tests)]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
