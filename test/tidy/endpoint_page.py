#!/usr/bin/env python3
"""Checks that docs/endpoints.md says of endpoint options what the parser's own table says.

    endpoint_page.py --probe build/host/tools/gnstor-probe [--write]
"""

import argparse
import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/endpoints.md"
BEGIN, END = "<!-- begin endpoint options -->\n", "<!-- end endpoint options -->\n"


def replaced(page, lists):
    """`page` with `lists` between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} needs the lines {BEGIN.strip()} and {END.strip()}")
    return before + begin + lists + end + after


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--probe", required=True, help="the program gnstor-probe")
    parser.add_argument("--write", action="store_true", help="write the page anew")
    arguments = parser.parse_args()
    lists = subprocess.run([arguments.probe, "--endpoints", "markdown"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    page = PAGE.read_text(encoding="utf-8")
    right = replaced(page, lists)
    if arguments.write:
        PAGE.write_text(right, encoding="utf-8")
    elif page != right:
        print(f"{PAGE.name} is older than the table of options: "
              "test/tidy/endpoint_page.py --probe PROGRAM --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
