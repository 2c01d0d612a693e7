#!/usr/bin/env python3
"""Prints "passed failed skipped" of a JUnit file that CTest wrote; fails when it holds no test."""

import sys
import xml.etree.ElementTree


def main():
    counts = {"run": 0, "fail": 0, "skip": 0}
    for case in xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        status = case.get("status")
        if case.find("skipped") is not None and case.find("failure") is None:
            reason = case.find("skipped").get("message", "")
            # CTest calls a test "not run" too when its program is missing.
            status = "skip" if reason.startswith(("SKIP_", "Skip")) else "fail"
        counts[status if status in counts else "fail"] += 1
    print(counts["run"], counts["fail"], counts["skip"])
    return 0 if sum(counts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
