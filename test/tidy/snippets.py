#!/usr/bin/env python3
"""Checks that the code in the pages is cut from code that is tested.

A page marks a snippet by `<!-- snippet: FILE -->` and `<!-- end snippet -->`; the fenced code
between them must be what FILE says between its `[snippet` and `snippet]` comments, or all of it.
`--write` puts it there.
"""

import argparse
import pathlib
import re
import sys

MARK = re.compile(r"<!-- snippet: (\S+) -->\n(.*?)<!-- end snippet -->", re.S)


def source_of(path):
    """The part of a file that pages show: between its marks, or all of it."""
    text = path.read_text()
    marked = re.search(r"^ *// \[snippet\n(.*?)^ *// snippet\]\n", text, re.S | re.M)
    return marked.group(1) if marked else text


def fenced(code):
    return f"```cpp\n{code.rstrip()}\n```\n"


def renewed(root, name):
    """A marked snippet with its file's present code."""
    code = fenced(source_of(root / name))
    return f"<!-- snippet: {name} -->\n{code}<!-- end snippet -->"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    faults, shown = 0, set()
    for page in [arguments.root / "README.md", *sorted((arguments.root / "docs").rglob("*.md"))]:
        text = page.read_text()
        for name, body in MARK.findall(text):
            shown.add(page.name)
            wanted = fenced(source_of(arguments.root / name))
            if body != wanted and not arguments.write:
                print(f"{page.name}: the snippet of {name} is not what that file says; "
                      f"run test/tidy/snippets.py --write {arguments.root}")
                faults += 1
        if arguments.write:
            page.write_text(MARK.sub(lambda found: renewed(arguments.root, found.group(1)), text))
    if "README.md" not in shown:
        print("no snippet found in README.md: it must show one")
        faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
