#!/usr/bin/env python3
"""Prints "passed failed skipped" of a JUnit file that CTest wrote; fails when it holds no test."""

import sys

import report_tests


def main():
    tests = report_tests.read("", sys.argv[1])
    failed = sum(test.failed for test in tests)
    skipped = sum(test.skipped for test in tests)
    print(len(tests) - failed - skipped, failed, skipped)
    return 0 if tests else 1


if __name__ == "__main__":
    sys.exit(main())
