#!/usr/bin/env python3
"""Compiles the queue pair's operations with nvcc and checks the doorbell, fences and stores made.

Usage: codegen.py ptx|sass [--source DIR]. Exit code 77 (skipped) without nvcc, or for sass without
nvdisasm (Debian-like: package cuda-nvdisasm; PyPI: nvidia-cuda-nvdisasm; or GNSTOR_NVDISASM=FILE).
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import events  # noqa: E402
import rules  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ARCH = "sm_90"
SKIPPED = 77


def tool(name):
    """The path of a program of the CUDA toolkit, or None."""
    named = os.environ.get(f"GNSTOR_{name.upper()}")
    return named or shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")


def compiled(form, include, folder):
    """The text that nvcc, and for sass nvdisasm, make of the operations."""
    target = pathlib.Path(folder) / ("ops.ptx" if form == "ptx" else "ops.cubin")
    flag = "-ptx" if form == "ptx" else "-cubin"
    subprocess.run([tool("nvcc"), "-std=c++20", "-O3", f"-arch={ARCH}", flag, f"-I{include}",
                    str(HERE / "queue_pair_ops.cu"), "-o", str(target)], check=True)
    if form == "ptx":
        return target.read_text()
    return subprocess.run([tool("nvdisasm"), "-c", str(target)], check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def faults(form, include):
    """What is wrong with the code made of the headers under `include`, as a list of sentences."""
    with tempfile.TemporaryDirectory() as folder:
        text = compiled(form, include, folder)
    if form == "sass":
        return list(rules.faults(events.read_sass(text)))
    positions = rules.position_faults(events.read_ptx_registers(text))
    return [*rules.faults(events.read_ptx(text)), *positions]


def missing(form):
    """The program that `form` needs and this machine lacks, or None."""
    return next((name for name in ("nvcc", "nvdisasm")[:1 if form == "ptx" else 2]
                 if tool(name) is None), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("form", choices=["ptx", "sass"])
    parser.add_argument("--source", type=pathlib.Path, default=ROOT, help="the project's root")
    arguments = parser.parse_args()
    if lacks := missing(arguments.form):
        print(f"skipped: {lacks} is not on this machine, so there is no {arguments.form} to check")
        return SKIPPED
    found = faults(arguments.form, arguments.source / "include")
    for fault in found:
        print(fault)
    print(f"{arguments.form} of {len(rules.RULES)} operations for {ARCH}: {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
