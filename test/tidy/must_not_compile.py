#!/usr/bin/env python3
"""Checks that a source is refused by the compiler, for the reason it names.

The source holds one or more lines `// expect: <regular expression>`; each must match somewhere in
the compiler's output, so that a typing error elsewhere in the file does not pass for a refusal. What
the source or its name says itself proves nothing, as compilers repeat both with any error: such an
expectation is refused.
"""

import argparse
import re
import sys

from toolchain import Toolchain, run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolchain", required=True)
    parser.add_argument("source")
    arguments = parser.parse_args()
    with open(arguments.source, encoding="utf-8") as file:
        text = file.read()
    expected = re.findall(r"^// expect: (.+)$", text, re.MULTILINE)
    if not expected:
        print(f"{arguments.source} holds no '// expect: <regular expression>' line")
        return 1
    repeated = arguments.source + "\n" + re.sub(r"^//.*$", "", text, flags=re.MULTILINE)
    for pattern in expected:
        if re.search(pattern, repeated):
            print(f"{arguments.source} says '{pattern}' itself: any error would show that")
            return 1
    toolchain = Toolchain(arguments.toolchain)
    code, output = run(toolchain.compile_command(arguments.source, ["-fsyntax-only"]))
    if code == 0:
        print(f"{arguments.source} compiled; expected: {expected[0]}")
        return 1
    missing = [pattern for pattern in expected if not re.search(pattern, output)]
    for pattern in missing:
        print(f"the compiler refused {arguments.source}, but not with: {pattern}\n{output}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
