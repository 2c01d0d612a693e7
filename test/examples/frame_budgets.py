#!/usr/bin/env python3
"""A frame budget that an example names after refusing one is taken, and one less is not.

Usage: frame_budgets.py BFS VECTOR_ADD
"""

import re
import sys

from running import Folder, figure

BFS = ["--scale 12 --frames 64K", "--scale 14 --frames 1", "--scale 14 --frames 1M",
       "--scale 14 --frames 1%", "--scale 12 --frames 1%",
       "--scale 14 --frames 1K --page-bytes 4096",
       "--scale 14 --frames 100K --page-bytes 65536", "--graph edgeless.mtx --frames 1K"]
VECTOR_ADD = ["--frames 1K", "--frames 300K", "--frames 1%", "--frames 2K --page-bytes 65536",
              "--frames 64K --type float"]


def main():
    bfs, vector_add = sys.argv[1:]
    failures = 0
    with Folder() as folder:
        folder.write("numbers.bin", b"12345678" * (1 << 16))
        folder.write("edgeless.mtx",
                     "%%MatrixMarket matrix coordinate pattern general\n9999 9999 0\n")
        sums = "numbers.bin numbers.bin sums.bin"
        cases = [(bfs, each) for each in BFS] + [(vector_add, f"{sums} {each}")
                                                 for each in VECTOR_ADD]
        for program, arguments in cases:
            def run(frames):
                words = arguments.split()
                if frames:
                    words[words.index("--frames") + 1] = frames
                return folder.run(program, *words)

            status, printed = run(None)
            named = re.search(r"give at least --frames (\d+)(K|%)$", printed, re.M)
            if status != 2 or not named:
                failures += 1
                print(f"{arguments}: exit status {status}, no budget is named\n{printed}")
                continue
            least, unit = int(named[1]), named[2]
            status, printed = run(f"{least}{unit}")
            if status != 0 or not (figure(printed, "verified") or "").startswith("yes"):
                failures += 1
                print(f"{arguments}: {named[0]} is named and fails\n{printed}")
            if least > 1 and run(f"{least - 1}{unit}")[0] != 2:
                failures += 1
                print(f"{arguments}: {named[0]} is named, and less is taken")
    print(f"{len(cases)} budgets, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
