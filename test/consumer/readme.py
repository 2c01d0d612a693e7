#!/usr/bin/env python3
"""Does what the pages tell a user to do outside this tree, with what they say and no more.

Takes the example and the CMakeLists.txt out of the guide (docs/getting-started.md) and the plain
kernel out of README.md, builds them against an installed package with every warning an error,
optimised as a user would, runs them, and provokes an error. Without nvcc (or with --nvcc '') it is
the guide's example alone, with nvcc the plain kernel alone.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

STRICT = "-Wall -Wextra -Werror"
NO_GPU = ["no GPU", "no CUDA-capable device", "driver version is insufficient",
          "without CUDA", "without the GPU side"]


class Failure(Exception):
    """What a user would stumble over."""


def blocks(page, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", page, re.M | re.S)


def only(page, kind, wanted, what):
    """The one block of a page that `wanted` takes."""
    found = [b for b in blocks(page.read_text(), kind) if wanted(b)]
    if len(found) != 1:
        raise Failure(f"{page.name} holds {len(found)} times {what}; expected once")
    return found[0]


def cmake_lists(guide):
    return only(guide, "cmake", lambda b: "find_package(gnstor" in b,
                "a CMakeLists.txt that finds gnstor")


def run(command, folder):
    done = subprocess.run(command, cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=280, check=False)
    return done.returncode, done.stdout


def build(folder, options, build_type):
    """Configures and builds, as a user does. Returns what the compiler said."""
    said = ""
    for command in (["cmake", "-S", ".", "-B", "build", f"-DCMAKE_BUILD_TYPE={build_type}",
                     *options], ["cmake", "--build", "build"]):
        code, text = run(command, folder)
        said += text
        if code != 0:
            raise Failure(f"{' '.join(command)} failed:\n{text}")
    if "warning" in said:
        raise Failure(f"there are warnings:\n{said}")


def expect(outcome, code, words):
    if outcome[0] != code or not any(word in outcome[1] for word in words):
        raise Failure(f"exit status {outcome[0]}, not {code}, or none of {words}:\n{outcome[1]}")


def use_on_host(folder, guide, options):
    example = only(guide, "cpp", lambda b: "int main" in b and "__global__" not in b,
                   "an example with main")
    (folder / "main.cpp").write_text(example)
    (folder / "CMakeLists.txt").write_text(cmake_lists(guide))
    for build_type in ("Release", "Debug"):
        build(folder, [*options, f"-DCMAKE_CXX_FLAGS={STRICT}"], build_type)
        expect(run(["build/app"], folder), 0, ["right"])
    expect(run(["build/app", "emu:?ssd=4"], folder), 2, ["option 'ssd' is unknown"])
    expect(run(["build/app", "emu:", "7"], folder), 2, ["volume 7 does not exist"])


def use_on_gpu(folder, readme, guide, options, nvcc):
    kernel = only(readme, "cpp", lambda b: "__global__" in b, "a plain kernel")
    (folder / "main.cu").write_text(kernel)
    lists = cmake_lists(guide).replace("LANGUAGES CXX", "LANGUAGES CXX CUDA")
    (folder / "CMakeLists.txt").write_text(lists.replace("main.cpp", "main.cu"))
    strict = f"-Werror=all-warnings -Xcompiler={STRICT.replace(' ', ',')}"
    build(folder, [*options, f"-DCMAKE_CUDA_COMPILER={nvcc}", "-DCMAKE_CUDA_ARCHITECTURES=90",
                   f"-DCMAKE_CUDA_FLAGS={strict}"], "Release")
    outcome = run(["build/app"], folder)
    expect(outcome, 0 if "right" in outcome[1] else 2, ["right", *NO_GPU])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readme", required=True, type=pathlib.Path)
    parser.add_argument("--guide", required=True, type=pathlib.Path)
    parser.add_argument("--nvcc", default="")
    parser.add_argument("option", nargs="*", help="goes to cmake")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gnstor_consumer_") as name:
        folder = pathlib.Path(name)
        try:
            if arguments.nvcc:
                use_on_gpu(folder, arguments.readme, arguments.guide, arguments.option,
                           arguments.nvcc)
            else:
                use_on_host(folder, arguments.guide, arguments.option)
        except Failure as failure:
            print(failure)
            return 1
    followed = arguments.readme if arguments.nvcc else arguments.guide
    print(f"{followed.name} can be followed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
