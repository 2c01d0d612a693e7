#!/usr/bin/env python3
"""Compiles the array node's kernels with nvcc and checks that their local memory fits into what a
session makes room for: a launch that lacks room waits for all kernels, and the node's do not end.
And that their code is as short as it was when it was fast: 1.17 MB of it, with each engine in it
twice, made reads of flash in an H200's memory a fifth slower than 0.84 MB.

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
CODE = re.compile(r"\s\.text\.\S+\s+PROGBITS\s+\S+\s+\S+\s+([0-9a-f]+)\s")
MOST_CODE = 950_000


def stacks(source, folder):
    """Bytes of local memory, and of code, of each kernel with what it calls."""
    includes = ["include", "firmware", "hostsetup/include"]
    cubin = str(pathlib.Path(folder) / "node.cubin")
    done = subprocess.run(
        [codegen.tool("nvcc"), "-std=c++20", "-O3", "-DNDEBUG", f"-arch={codegen.ARCH}", "-cubin",
         "-Xptxas", "-v", *(f"-I{source / one}" for one in includes), str(source / RUNNER),
         "-o", cubin],
        check=True, stderr=subprocess.PIPE, text=True)
    # Its warnings are about sections that only NVIDIA's tools know.
    sections = subprocess.run(["readelf", "-SW", cubin], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout
    return ([int(one) for one in STACK.findall(done.stderr)],
            [int(one, 16) for one in CODE.findall(sections)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=pathlib.Path, default=codegen.ROOT)
    source = parser.parse_args().source
    if codegen.tool("nvcc") is None:
        print("skipped: nvcc is not on this machine, so there are no kernels to look at")
        return codegen.SKIPPED
    room = int(ROOM.search((source / SUPPORT).read_text())[1])
    with tempfile.TemporaryDirectory() as folder:
        local, code = stacks(source, folder)
    print(f"the array node's kernels take {max(local)} bytes of local memory a thread; "
          f"a session makes room for {room}")
    print(f"the longest has {max(code)} bytes of code, and may have {MOST_CODE}")
    return 0 if max(local) <= room and max(code) <= MOST_CODE else 1


if __name__ == "__main__":
    sys.exit(main())
