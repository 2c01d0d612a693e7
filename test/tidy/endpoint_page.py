#!/usr/bin/env python3
"""Checks that docs/endpoints.md, emulation.md, local-nvme.md, packets.md, packet-peers.md and
packet-traffic.md say of endpoint options what the parser's own table says.

    endpoint_page.py --probe build/host/tools/gnstor-probe [--write]
"""

import argparse
import pathlib
import subprocess
import sys

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
# What begins the parts that have a page of their own.
PAGES = {"How an array is emulated": "emulation.md", "A local NVMe controller": "local-nvme.md",
         "An Ethernet controller": "packets.md", "with Linux on its wires": "packet-peers.md",
         "with capture files on its wires": "packet-traffic.md",
         "An 82574 (e1000e)": "packet-peers.md"}
BEGIN, END = "<!-- begin endpoint options -->\n", "<!-- end endpoint options -->\n"


def parts(lists):
    """The lists of each page."""
    found = {"endpoints.md": []} | {page: [] for page in PAGES.values()}
    for part in ("\n" + lists).split("\n`")[1:]:
        pages = [page for words, page in PAGES.items() if words in part]
        found[pages[0] if pages else "endpoints.md"].append("`" + part.rstrip("\n") + "\n")
    for page, own in found.items():
        if not own:
            raise ValueError(f"there is no list for {page}")
    return {page: "\n".join(own) for page, own in found.items()}


def replaced(name, page, lists):
    """`page` with `lists` between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{name} needs the lines {BEGIN.strip()} and {END.strip()}")
    return before + begin + lists + end + after


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--probe", required=True, help="the program gnstor-probe")
    parser.add_argument("--write", action="store_true", help="write the pages anew")
    arguments = parser.parse_args()
    lists = subprocess.run([arguments.probe, "--endpoints", "markdown"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    old = 0
    for name, part in parts(lists).items():
        page = (DOCS / name).read_text(encoding="utf-8")
        right = replaced(name, page, part)
        if arguments.write:
            (DOCS / name).write_text(right, encoding="utf-8")
        elif page != right:
            print(f"{name} is older than the table of options: "
                  "test/tidy/endpoint_page.py --probe PROGRAM --write")
            old = 1
    return old


if __name__ == "__main__":
    sys.exit(main())
