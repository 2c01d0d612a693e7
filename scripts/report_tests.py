#!/usr/bin/env python3
"""Says what a run of tests cost, and what it left out. Reads the JUnit files that CTest wrote.

Prints the ten slowest tests, how many planted bugs kept their verdict, each room whose host tests
took longer than test/budgets.txt gives them, the last lines of each test that failed, also of one
that passed when it ran again alone, and each skip that test/skips.txt does not allow here. Fails if
there is one of those.

Usage: report_tests.py PRESET=JUNIT...
"""

import collections
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import typing
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
SLOWEST = 10
LAST_LINES = 12  # of a test that failed: the report is read where the whole output is cut
ANSWERED = "found before, built from the same"  # what test/bugs/mutate.py says then
LATE = "the time for guests is over"  # what test/interop/lab/case.bash says then
SANITIZERS = ("asan", "tsan")  # presets that test/skips.txt may name
SKIPPED_CASE = re.compile(r"^skipped case: (.*)$", re.M)  # what test/main.cpp says


class Test(typing.NamedTuple):
    preset: str
    name: str
    seconds: float
    output: str
    skipped: bool
    failed: bool = False
    unsteady: bool = False  # it failed, and passed when it ran again; `output` is of the first


def read(preset, path):
    """What ran, was skipped, or could not run: a test whose program is missing has failed.

    What ran again, alone, lies in a file beside `path` whose name ends in -again.
    """
    path = pathlib.Path(path)
    tests = read_file(preset, path)
    again = path.with_name(f"{path.stem}-again{path.suffix}")
    if not again.exists():
        return tests
    passed = {test.name for test in read_file(preset, again)
              if not test.failed and not test.skipped}
    return [test._replace(failed=False, unsteady=True)
            if test.failed and test.name in passed else test for test in tests]


def read_file(preset, path):
    """The tests of one JUnit file."""
    return [read_case(preset, case)
            for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase")]


def read_case(preset, case):
    output = case.findtext("system-out") or ""
    left_out = case.find("skipped")
    failed = case.get("status", "run") in ("fail", "disabled") or case.find("failure") is not None
    # CTest calls a test "not run" too when its program is missing.
    if not failed and left_out is not None and not (
            left_out.get("message") or "").startswith(("SKIP_", "Skip")):
        failed, output = True, output + "\nit could not be started: was it built?"
    return Test(preset, case.get("name"), float(case.get("time") or 0), output,
                left_out is not None and not failed, failed)


def lines_of(path):
    """The lines of a list, split at the first blanks; comments left out."""
    return [line.split(None, 1) for line in path.read_text().splitlines()
            if line.strip() and not line.startswith("#")]


def slowest(tests):
    """The lines that name the slowest tests, the slowest first."""
    worst = sorted(tests, key=lambda test: -test.seconds)[:SLOWEST]
    return [f"{test.seconds:7.1f} s  {test.name} ({test.preset})" for test in worst]


def failures(tests):
    """The last lines of each test that failed, under its name; those that passed again first."""
    for test in sorted(tests, key=lambda test: test.failed):
        if test.failed or test.unsteady:
            yield (f"== {'failed' if test.failed else 'unsteady: failed, then passed alone,'} "
                   f"after {test.seconds:.1f} s: {test.name} ({test.preset})")
            said = [line for line in test.output.splitlines() if line.strip()]
            yield from (f"    {line[:300]}" for line in said[-LAST_LINES:])


def bugs(tests):
    """The line that says how many planted bugs ran."""
    planted = [test for test in tests if test.name.startswith("bugs.") and test.name != "bugs.tool"]
    answered = sum(ANSWERED in test.output for test in planted)
    waiting = sum(test.skipped for test in planted)
    if planted:
        yield (f"== planted bugs and their controls: {len(planted) - answered - waiting} ran, "
               f"{answered} kept their verdict" +
               f", {waiting} were left for another run (test/bugs/verdicts.py)" * bool(waiting))


def guests(tests):
    """The line that says which guests were left for another run."""
    late = [test.name for test in tests if test.skipped and LATE in test.output]
    if late:
        yield "== left for another run, the time for guests is over: " + ", ".join(late)


def over_budget(tests, budgets, rooms):
    """The warnings of rooms that take too long, or have no budget."""
    took = collections.Counter()
    for test in tests:
        room = test.name.partition(".")[0]
        if test.preset == "host" and room in rooms:
            took[room] += test.seconds
    for room in sorted(took):
        if room not in budgets:
            yield (f"== warning: {room} took {took[room]:.1f} s, and has no budget in "
                   "test/budgets.txt")
        elif took[room] > budgets[room]:
            yield (f"== warning: the tests of {room} took {took[room]:.1f} s; their budget is "
                   f"{budgets[room]:g} s (test/budgets.txt)")


def skips(tests):
    """What was skipped, each with the preset that it was skipped in: tests, and "test: case"."""
    for test in tests:
        if test.skipped:
            yield test.preset, test.name
        for case in SKIPPED_CASE.findall(test.output):
            yield test.preset, f"{test.name}: {case}"


class Machine:
    """What this machine lacks; asked only when something was skipped for it."""

    def __init__(self):
        self._known = {"always": True}

    def is_so(self, where):
        if where not in self._known:
            self._known[where] = self._ask(where)
        return self._known[where]

    def _ask(self, where):
        named = bool(os.environ.get("GNSTOR_TEST_RDMA"))
        if where == "no-gpu":
            return not shutil.which("nvidia-smi") or not subprocess.run(
                ["nvidia-smi", "-L"], capture_output=True, text=True,
                check=False).stdout.startswith("GPU")
        if where == "one-gpu":
            return len(subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True,
                                      check=False).stdout.splitlines()) < 2
        if where == "no-rdma":
            return not named
        if where == "rdma":
            return named or os.path.exists("/dev/infiniband")
        if where == "no-lab":
            return subprocess.run([ROOT / "test/interop/guest-lab", "--prepare"], check=False,
                                  capture_output=True).returncode == 77
        if where == "no-etcd":
            return not shutil.which("etcd")
        if where == "no-xfs":
            return not os.path.exists("/usr/include/xfs/xfs_format.h") or not shutil.which(
                "mkfs.xfs", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        if where == "late":
            until = os.environ.get("GNSTOR_GUESTS_UNTIL")
            return bool(until) and time.time() >= float(until)
        if where == "no-nbd":
            return not all(map(shutil.which, ("nbdkit", "nbdcopy", "nbdsh", "qemu-img", "fio")))
        if where == "no-nvdisasm":
            return not os.environ.get("GNSTOR_NVDISASM") and not shutil.which(
                "nvdisasm", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
        sys.exit(f"test/skips.txt: nothing is known of {where}")


def unexpected(skipped, allowed, machine):
    """Those of `skipped`, pairs of a preset and a name, that no line of `allowed` is for."""
    return [(preset, name) for preset, name in skipped
            if not any(fnmatch.fnmatchcase(name, re.sub(r"([\[?])", r"[\1]", pattern))
                       and (where == preset if where in SANITIZERS else machine.is_so(where))
                       for where, pattern in allowed)]


def main(arguments):
    tests = []
    for argument in arguments:
        preset, _, path = argument.partition("=")
        if pathlib.Path(path).exists():
            tests += read(preset, path)
    if not tests:
        return 0
    rooms = {path.name for path in (ROOT / "test").iterdir() if list(path.glob("*.cpp"))}
    budgets = {room: float(seconds) for room, seconds in lines_of(ROOT / "test/budgets.txt")}
    print(f"== the slowest of {len(tests)} tests")
    # What failed comes last: where a long output is cut, its end is kept.
    print("\n".join([*slowest(tests), *bugs(tests), *guests(tests),
                     *over_budget(tests, budgets, rooms), *failures(tests)]))
    wrong = unexpected(list(skips(tests)), lines_of(ROOT / "test/skips.txt"), Machine())
    for preset, name in wrong:
        print(f"== skipped, and test/skips.txt does not allow it here: {name} ({preset})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
