#!/usr/bin/env python3
"""Gives gnstor-target what it cannot serve: it says why, and makes no array for it.

Usage: target_arguments.py GNSTOR_TARGET
"""

import pathlib
import subprocess
import sys
import tempfile

CASES = [
    ("a port that is none", "--listen 0.0.0.0:99999", "a port from 1 to 65535"),
    ("a port that is a word", "--listen 0.0.0.0:nvme", "a port from 1 to 65535"),
    ("an address that is none of this machine", "--listen 203.0.113.7:4420", ""),
    ("a host name that is none", "--listen no.such.host.invalid:4420", ""),
    ("an unknown option of the array", "--array emu:?ssd=4", "option 'ssd' is unknown"),
    ("an unknown scheme", "--array tape:0", "unknown scheme"),
    ("an heir without a name", "--reassign 3", "VID=NQN"),
    ("an heir of no volume", "--reassign 0=nqn.2026-11.io.gnstor:host:a", "VID=NQN"),
    ("metrics without a manager", "--metrics 127.0.0.1:0", "use --manage here"),
    ("a time that is none", "--timeout 0", "--timeout"),
]


def main():
    target = pathlib.Path(sys.argv[1]).resolve()
    failures = 0
    cases = list(CASES)
    if not pathlib.Path("/sys/class/infiniband").is_dir():
        cases.append(("a machine without RDMA", "", "RDMA"))
    with tempfile.TemporaryDirectory(prefix="gnstor_target_") as name:
        for what, arguments, expected in cases:
            words = arguments.split()
            if "--array" not in words:
                words += ["--array", f"emu:?ssds=2&capacity=16M&flash={name}"]
            done = subprocess.run([target, *words], text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=60, check=False)
            left = sorted(path.name for path in pathlib.Path(name).iterdir())
            if done.returncode == 0 or expected not in done.stdout or left or not done.stdout:
                failures += 1
                print(f"{what}: exit status {done.returncode}, files {left}\n{done.stdout}")
    print(f"{len(cases)} command lines, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
