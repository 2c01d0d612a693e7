#!/usr/bin/env python3
"""gnstor-volumes lists what is there, says why where it cannot, and makes nothing.

Usage: volumes.py GNSTOR_VOLUMES READ_ONE
"""

import pathlib
import re
import subprocess
import sys
import tempfile


def main():
    volumes, read_one = (pathlib.Path(path).resolve() for path in sys.argv[1:])
    failures = 0
    with tempfile.TemporaryDirectory(prefix="gnstor_volumes_") as name:
        array = f"emu:?ssds=3&capacity=16M&flash={name}"

        def expect(what, arguments, status, words, rows=None, program=volumes):
            nonlocal failures
            done = subprocess.run([program, *arguments], text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=60, check=False)
            got = [re.sub(r"\b[0-9a-f]{16}\b", "HOST", line).split()
                   for line in done.stdout.splitlines()]
            wrong = done.returncode != status or any(word not in done.stdout for word in words)
            if wrong or (rows is not None and got != rows):
                failures += 1
                print(f"{what}: exit status {done.returncode}\n{done.stdout}")

        def files():
            return sorted(path.name for path in pathlib.Path(name).iterdir())

        expect("no endpoint", [], 106, ["ENDPOINT is required"])
        expect("a wrong one", ["emu:?flash"], 2, ["expected name=value"])
        expect("an array in memory", ["emu:"], 2, ["without flash= is new in each process"])
        expect("no array in the folder", [array], 2, ["there is no array", name])
        if files():
            failures += 1
            print(f"asking made {files()}")
        expect("a volume is made", [array], 0, ["right"], program=read_one)
        head = ["VID", "NAME", "SIZE", "REPLICAS", "STRIPE", "SSDS", "OWNER", "RIGHTS"]
        first = ["1", "-", "4", "KiB", "2", "64", "KiB", "3", "HOST", "this", "host",
                 "read"]
        expect("one volume", [array], 0, [], [head, first])
        expect("another is made", [array], 0, ["right"], program=read_one)
        expect("two volumes", [array], 0, [], [head, first, ["2", *first[1:]]])
        expect("with other options", [f"emu:?flash={name}"], 2, ["made with capacity=16M"])
        expect("it changed nothing", [array, "1"], 0, ["right"], program=read_one)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
