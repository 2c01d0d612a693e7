#!/usr/bin/env python3
"""Compiles every benchmark of the GPU to PTX with nvcc: CI has no GPU, and one that does not
compile is found on the day when it is to be run.

Usage: benchmarks.py [--source DIR]. Exit code 77 (skipped) without nvcc.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

import codegen

INCLUDES = ["include", "firmware", "examples", "hostsetup/src", "hostsetup/include",
            "hostsetup/simt/include", "hostsetup/pcie/include", "hostsetup/files/include"]
# Not optimised: what is asked is whether it compiles.
FLAGS = ["-std=c++20", f"-arch={codegen.ARCH.replace('sm', 'compute')}", "-Xcicc=-O0",
         "-DGNSTOR_WITH_CUDA=1", "-DCCCL_DISABLE_FP16_SUPPORT", "-c", "-o", os.devnull]


def compiled(source, path):
    """What nvcc says of a file that does not compile; empty if it does."""
    done = subprocess.run(
        [codegen.tool("nvcc"), *FLAGS, *(f"-I{source / one}" for one in INCLUDES), str(path)],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    return "" if done.returncode == 0 else f"{path.name} does not compile:\n{done.stderr}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=pathlib.Path, default=codegen.ROOT)
    source = parser.parse_args().source
    if codegen.tool("nvcc") is None:
        print("skipped: nvcc is not on this machine, so nothing of the GPU can be compiled")
        return codegen.SKIPPED
    files = sorted((source / "benchmark").glob("*.cu"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        faults = [said for said in workers.map(lambda f: compiled(source, f), files) if said]
    print("\n".join(faults) or f"{len(files)} benchmarks of the GPU compile")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
