#!/usr/bin/env python3
"""Compiles the array node's kernels with nvcc and checks that their local memory fits into what a
session makes room for: a launch that lacks room waits for all kernels, and the node's do not end.

Usage: node_stack.py [--source DIR]. Exit code 77 (skipped) without nvcc.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import codegen

SUPPORT = "hostsetup/src/base/cuda_support.cpp"
RUNNER = "firmware/afa/gpu_runner.cu"
ROOM = re.compile(r"constexpr std::size_t enough = (\d+);")
STACK = re.compile(r"(\d+) bytes stack frame")


def stacks(source, folder):
    """Bytes of each kernel, and of what they call."""
    includes = ["include", "firmware", "hostsetup/include"]
    done = subprocess.run(
        [codegen.tool("nvcc"), "-std=c++20", "-O3", "-DNDEBUG", f"-arch={codegen.ARCH}", "-cubin",
         "-Xptxas", "-v", *(f"-I{source / one}" for one in includes), str(source / RUNNER),
         "-o", str(pathlib.Path(folder) / "node.cubin")],
        check=True, stderr=subprocess.PIPE, text=True)
    return [int(one) for one in STACK.findall(done.stderr)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=pathlib.Path, default=codegen.ROOT)
    source = parser.parse_args().source
    if codegen.tool("nvcc") is None:
        print("skipped: nvcc is not on this machine, so there are no kernels to look at")
        return codegen.SKIPPED
    room = int(ROOM.search((source / SUPPORT).read_text())[1])
    with tempfile.TemporaryDirectory() as folder:
        found = stacks(source, folder)
    print(f"the array node's kernels take {max(found)} bytes of local memory a thread; "
          f"a session makes room for {room}")
    return 0 if max(found) <= room else 1


if __name__ == "__main__":
    sys.exit(main())
