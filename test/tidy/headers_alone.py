#!/usr/bin/env python3
"""Compiles every .hpp that another folder may include alone, with our warnings as errors.

A header that works only after another one cannot be opened, tested or included by a reader. Where
the build is in haste, third-party headers are precompiled, and one of theirs may be missing.
"""

import argparse
import os
import sys

from alone import Alone
from toolchain import WARNINGS, Toolchain, run

FOLDERS = ["include", "hostsetup/include", "hostsetup/simt/include",
           "hostsetup/pcie/include", "hostsetup/files/include", "firmware",
           "serve"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolchain", required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at a time")
    arguments = parser.parse_args()
    toolchain = Toolchain(arguments.toolchain)
    headers = [header.relative_to(toolchain.source).as_posix() for folder in FOLDERS
               for header in sorted((toolchain.source / folder).rglob("*.hpp"))
               if toolchain.has_messages or "<gnstor/v1/" not in header.read_text()]
    alone = Alone("headers", toolchain.source, toolchain.compiler, __file__)
    command = " ".join([*toolchain.flags, *WARNINGS, toolchain.versions])
    first = []

    def compile_one(header):
        # Included, not compiled itself: `#pragma once` in a main file is a warning.
        flags = [*first, *WARNINGS, "-fsyntax-only", "-include", str(toolchain.source / header),
                 "-x", "c++"]
        return run(toolchain.compile_command("/dev/null", flags))

    if toolchain.in_haste:
        first = toolchain.precompiled()
    sound = alone.check([(header, command) for header in headers], compile_one, arguments.jobs)
    alone.leave(toolchain.binaries / "alone")
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
