#!/usr/bin/env python3
"""Compiles every .hpp that another folder may include alone, with our warnings as errors.

A header that works only after another one cannot be opened, tested or included by a reader. Where
the build is in haste, third-party headers are precompiled, and one of theirs may be missing.
"""

import argparse
import concurrent.futures
import functools
import os
import sys

from toolchain import WARNINGS, Toolchain, run

FOLDERS = ["include", "hostsetup/include", "hostsetup/simt/include", "firmware",
           "serve"]


def check(toolchain, first, header):
    # Included, not compiled itself: `#pragma once` in a main file is a warning.
    flags = [*first, *WARNINGS, "-fsyntax-only", "-include", str(header), "-x", "c++"]
    code, output = run(toolchain.compile_command("/dev/null", flags))
    return header.relative_to(toolchain.source), code, output


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolchain", required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at a time")
    arguments = parser.parse_args()
    toolchain = Toolchain(arguments.toolchain)
    headers = [header for folder in FOLDERS
               for header in sorted((toolchain.source / folder).rglob("*.hpp"))]
    first = toolchain.precompiled() if toolchain.in_haste else []
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for name, code, output in pool.map(functools.partial(check, toolchain, first), headers):
            if code != 0:
                failed += 1
                print(f"{name} does not compile alone:\n{output}")
    print(f"{len(headers)} headers, {failed} failed")
    return 1 if failed or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
