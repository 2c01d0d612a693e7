#!/usr/bin/env python3
"""Compiles kernels of one access to an array, and checks that they are as light as arrays promise:
few registers, no local memory, nothing spilled. What is rare is in functions of its own; one that
is given a reference to a lane's variables, or calls another, costs every kernel a third more.

Usage: views.py [--include DIR]. Exit code 77 (skipped) without nvcc.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import codegen

MOST_REGISTERS = {"mapped": 64, "served": 48}
ONLY_ATOMICS = "#include <cuda/atomic>\n__global__ void nothing() {}\n"
ONE_VIEW = """#include <gnstor/array/served_array.hpp>
__global__ void read_one(gnstor::served_array<float> view, float* to) {
  to[threadIdx.x] = view[threadIdx.x];
}
"""
ENTRY = re.compile(
    r"Compiling entry function '_Z\d+(?P<name>\w+?)N\w*'.*?(?P<stack>\d+) bytes stack frame, "
    r"(?P<stores>\d+) bytes spill stores.*?Used (?P<registers>\d+) registers", re.DOTALL)


def kernels(include):
    """What ptxas says of each kernel: {name: (registers, bytes of stack and of spill stores)}."""
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run(
            [codegen.tool("nvcc"), "-std=c++20", "-O3", "-DNDEBUG", f"-arch={codegen.ARCH}",
             "-cubin", "-Xptxas", "-v", f"-I{include}", str(codegen.HERE / "views.cu"),
             "-o", str(pathlib.Path(folder) / "views.cubin")],
            check=True, stderr=subprocess.PIPE, text=True).stderr
    return {found["name"]: (int(found["registers"]), int(found["stack"]) + int(found["stores"]))
            for found in ENTRY.finditer(said)}


def times_as_long(include):
    """How long a program of one such kernel takes to compile, to one that includes <cuda/atomic>
    alone."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "one.cu"
        took = []
        for text in ONLY_ATOMICS, ONE_VIEW:
            source.write_text(text)
            begin = time.monotonic()
            subprocess.run([codegen.tool("nvcc"), "-std=c++20", "-O3", f"-arch={codegen.ARCH}",
                            "-cubin", f"-I{include}", str(source), "-o", f"{source}bin"],
                           check=True)
            took.append(time.monotonic() - begin)
    return took[1] / took[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", type=pathlib.Path, default=codegen.ROOT / "include")
    include = parser.parse_args().include
    if codegen.tool("nvcc") is None:
        print("skipped: nvcc is not on this machine, so there are no kernels to look at")
        return codegen.SKIPPED
    found = kernels(include)
    heavy = len(found) != 4
    for name, (registers, local) in sorted(found.items()):
        most = MOST_REGISTERS[name.split("_")[0]]
        print(f"{name}: {registers} registers of {most}, {local} bytes of local memory of 0")
        heavy = heavy or registers > most or local > 0
    print(f"a kernel beside a pager takes {times_as_long(include):.1f} times as long to compile as "
          "<cuda/atomic>; 3 are wanted, of a machine that does nothing else")
    return 1 if heavy else 0


if __name__ == "__main__":
    sys.exit(main())
