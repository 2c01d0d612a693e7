#!/usr/bin/env python3
"""Compiles each source of the libraries and tools by itself and optimised, as a user's build does
and no other build here: that finds missing includes, and warnings that others do not have.

Takes the commands of a configured build whose sources are not gathered.
"""

import argparse
import json
import os
import pathlib
import sys

from alone import Alone
from toolchain import run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, help="a build folder with compile_commands.json")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at a time")
    arguments = parser.parse_args()
    build = pathlib.Path(arguments.build).resolve()
    source = pathlib.Path(__file__).resolve().parent.parent.parent
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = entry["command"].split()
        if pathlib.Path(entry["file"]).is_relative_to(build):
            continue  # written by a compiler of messages
        name = pathlib.Path(entry["file"]).relative_to(source).as_posix()
        commands[name] = words[:words.index("-o")] + ["-Werror", "-o", "/dev/null", "-c",
                                                      entry["file"]]
    some = next(iter(commands.values()))
    compiler = next(word for word in some if not word.endswith("ccache"))
    alone = Alone("sources", source, compiler, __file__)

    def described(words):
        """The command without folders of this machine; of libcu++ its version says enough."""
        text = " ".join(words)
        for flag, folder in zip(words, words[1:]):
            version = pathlib.Path(folder) / "cuda/std/__cccl/version.h"
            if flag == "-isystem" and version.is_file():
                text = text.replace(folder, version.read_text())
        return text.replace(str(build), "BUILD").replace(str(source), "SOURCE")

    sound = alone.check([(name, described(words)) for name, words in commands.items()],
                        lambda name: run(commands[name]), arguments.jobs)
    alone.leave(build / "alone")
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
