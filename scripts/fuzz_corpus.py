#!/usr/bin/env python3
"""Turns a folder of fuzzer inputs into one text file, a line of hex each, and back."""

import pathlib
import sys


def main():
    way, source, target = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
    if way == "pack":
        inputs = sorted(path.read_bytes().hex() for path in source.iterdir())
        target.write_text("".join(line + "\n" for line in inputs if line))
        print(f"{target}: {len(inputs)} inputs, {target.stat().st_size} bytes", file=sys.stderr)
    else:
        for number, line in enumerate(source.read_text().splitlines()):
            (target / f"{number:05}").write_bytes(bytes.fromhex(line))


if __name__ == "__main__":
    main()
