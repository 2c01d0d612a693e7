#!/usr/bin/env python3
"""A volume on flash=DIR outlives its process, and the examples that use scratch volumes leave none.

Usage: flash_survives.py READ_ONE BFS
"""

import sys

from running import Folder, figure


def main():
    read_one, bfs = sys.argv[1:]
    endpoint = "emu:?capacity=16M&flash=flash"
    failures = 0
    with Folder() as folder:
        (folder.path / "flash").mkdir()

        def expect(what, program, arguments, text, status=0):
            nonlocal failures
            where = [endpoint] if program == read_one else ["--endpoint", endpoint]
            got, printed = folder.run(program, *where, *arguments.split())
            if got != status or text not in printed:
                failures += 1
                print(f"{what}: exit status {got}, expected {status} and '{text}'\n{printed}")
            return printed

        right = "read volume 1: its sum is 524800, right"
        expect("the first process writes", read_one, "", right)
        expect("the second one reads", read_one, "1", right)
        for _ in range(2):
            printed = expect("a search beside it", bfs, "--scale 10 --degree 8", "verified")
            if figure(printed, "verified") != "yes":
                failures += 1
                print(f"the search is not verified\n{printed}")
        expect("it left no volume", read_one, "2", "volume 2 does not exist", status=2)
        expect("the volume is still there", read_one, "1", right)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
