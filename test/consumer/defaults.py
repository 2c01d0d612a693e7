#!/usr/bin/env python3
"""Configures this project without a preset: what nobody chose is chosen well, what cannot work is
refused in words."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

BARE = [f"-DGNSTOR_BUILD_{part}=OFF" for part in ("TESTS", "EXAMPLES", "BENCHMARKS", "TOOLS")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True)
    parser.add_argument("--nvcc", default="")
    parser.add_argument("option", nargs="*", help="goes to cmake")
    arguments = parser.parse_args()
    failures = 0
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("CMAKE_BUILD_TYPE", "CUDAARCHS", "CUDACXX")}

    def configured(*options, succeeds=True, says=(), cached=()):
        nonlocal failures
        with tempfile.TemporaryDirectory(prefix="gnstor_defaults_") as folder:
            done = subprocess.run(["cmake", "-S", arguments.source, "-B", folder, *BARE,
                                   *arguments.option, *options], env=environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            cache = pathlib.Path(folder, "CMakeCache.txt")
            lines = cache.read_text().splitlines() if cache.exists() else []
        said = " ".join(done.stdout.split())
        wrong = [f"not said: {words}" for words in says if words not in said]
        wrong += [f"not cached: {entry}" for entry in cached if entry not in lines]
        if (done.returncode == 0) != succeeds:
            wrong.append(f"exit status {done.returncode}")
        for line in wrong:
            failures += 1
            print(f"{options}: {line}\n{done.stdout}")

    configured(says=["CMAKE_BUILD_TYPE is RelWithDebInfo, as none was given"],
               cached=["CMAKE_BUILD_TYPE:STRING=RelWithDebInfo"])
    configured("-DCMAKE_BUILD_TYPE=Debug", cached=["CMAKE_BUILD_TYPE:STRING=Debug"])
    gpu = pathlib.Path("/dev/nvidia0").exists()
    if arguments.nvcc:
        configured("-DGNSTOR_BUILD_CUDA=ON",
                   cached=[f"CMAKE_CUDA_ARCHITECTURES:STRING={'native' if gpu else '90'}"])
        configured("-DGNSTOR_BUILD_CUDA=ON", "-DCMAKE_CUDA_ARCHITECTURES=80",
                   cached=["CMAKE_CUDA_ARCHITECTURES:UNINITIALIZED=80"])
        configured("-DGNSTOR_BUILD_CUDA=ON", "-DCMAKE_CUDA_ARCHITECTURES=90;70", succeeds=False,
                   says=["sm_70 is too old, gnstor needs sm_75 or newer. Use 90 for Hopper"])
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
