#!/usr/bin/env python3
"""Gives gnstor-memory what it cannot export: it says why, and ends.

Usage: memory_arguments.py GNSTOR_MEMORY
"""

import pathlib
import subprocess
import sys

CASES = [
    ("no region", "", "--region"),
    ("a region without an endpoint", "--region edges", "NAME=file:PATH"),
    ("a region without a name", "--region =host:?bytes=1K", "NAME=file:PATH"),
    ("a region of no size", "--region a=host:", "host:?bytes=SIZE"),
    ("an array", "--region a=emu:?ssds=1", "expected host:?bytes=SIZE"),
    ("a file that is not there", "--region a=file:/no/such/file", "cannot be opened"),
    ("one name twice", "--region a=host:?bytes=1K --region a=host:?bytes=1K", "two regions"),
    ("a name that is too long", f"--region {'a' * 48}=host:?bytes=1K", "1 to 31 characters"),
    ("a port that is none", "--region a=host:?bytes=1K --listen 0.0.0.0:99999",
     "a port from 1 to 65535"),
]


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    failures = 0
    cases = list(CASES)
    if not pathlib.Path("/sys/class/infiniband").is_dir():
        cases.append(("a machine without RDMA", "--region a=host:?bytes=1K", "RDMA"))
    for what, arguments, expected in cases:
        done = subprocess.run([program, *arguments.split()], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60, check=False)
        if done.returncode not in (1, 2, 106) or expected not in done.stdout:
            failures += 1
            print(f"{what}: exit status {done.returncode}\n{done.stdout}")
    print(f"{len(cases)} command lines, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
