#!/usr/bin/env python3
"""Checks that a source is refused by the compiler, for the reason it names.

The source holds one or more lines `// expect: <regular expression>`; each must match somewhere in
the compiler's output, so that a typing error elsewhere in the file does not pass for a refusal.
What the source or its name says itself proves nothing, as compilers repeat both with any error:
such an expectation is refused. `// flags: <words>` adds to the command line, `// at most: <n>
errors` bounds what the user has to read. A `.cu` source is compiled by the nvcc of `--nvcc`.
"""

import argparse
import re
import sys

from toolchain import Toolchain, run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolchain", required=True)
    parser.add_argument("--nvcc", help="compiles the source instead")
    parser.add_argument("source")
    arguments = parser.parse_args()
    with open(arguments.source, encoding="utf-8") as file:
        text = file.read()
    expected = re.findall(r"^// expect: (.+)$", text, re.MULTILINE)
    if not expected:
        print(f"{arguments.source} holds no '// expect: <regular expression>' line")
        return 1
    flags = " ".join(re.findall(r"^// flags: (.+)$", text, re.MULTILINE)).split()
    most = re.search(r"^// at most: (\d+) errors$", text, re.MULTILINE)
    repeated = arguments.source + "\n" + re.sub(r"^//.*$", "", text, flags=re.MULTILINE)
    for pattern in expected:
        if re.search(pattern, repeated):
            print(f"{arguments.source} says '{pattern}' itself: any error would show that")
            return 1
    toolchain = Toolchain(arguments.toolchain)
    if arguments.nvcc:
        command = [arguments.nvcc, f"-I{toolchain.source}/include", *flags, "-E", arguments.source]
    else:
        command = toolchain.compile_command(arguments.source, ["-fsyntax-only", *flags])
    code, output = run(command)
    if code == 0:
        print(f"{arguments.source} compiled; expected: {expected[0]}")
        return 1
    missing = [pattern for pattern in expected if not re.search(pattern, output)]
    for pattern in missing:
        print(f"the compiler refused {arguments.source}, but not with: {pattern}\n{output}")
    errors = len(re.findall(r"\berror:", output))
    if most and errors > int(most[1]):
        print(f"{arguments.source}: {errors} errors, at most {most[1]} expected\n{output}")
        return 1
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
