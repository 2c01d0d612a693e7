"""The compiler of the build, as test/CMakeLists.txt describes it in toolchain.json."""

import fcntl
import json
import pathlib
import subprocess

INCLUDE_ROOTS = ["include", "hostsetup/include", "hostsetup/simt/include",
                 "hostsetup/pcie/include", "hostsetup/files/include",
                 "hostsetup/src", "firmware", "tools", ".", "test"]
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wpedantic", "-Wno-missing-field-initializers",
            "-Werror"]


# What every test opens and nothing of ours is in: compiled once, a third of a small file's time.
THIRD_PARTY = ["doctest/doctest.h", "cuda/std/atomic", "cuda/std/bit", "cuda/atomic", "algorithm",
               "functional", "memory", "string", "thread", "vector"]


class ToolchainError(Exception):
    """The compiler or its flags, not what is checked, are wrong."""


class Toolchain:
    def __init__(self, path):
        described = json.loads(pathlib.Path(path).read_text())
        self.source = pathlib.Path(described["source"])
        self.main = described["main"]
        self.libraries = described["libraries"]
        self.binaries = pathlib.Path(described["binaries"])
        self.compiler = described["compiler"]
        self.launcher = [described["launcher"]] if described["launcher"] else []
        self.in_haste = described["in_haste"]
        self.flags = described["flags"]
        self.libcudacxx = described["libcudacxx"]
        self.build = pathlib.Path(described["build"])
        self.versions = described["versions"]
        self.messages = self.build / "api"  # generated from api/*.proto, where gRPC is
        self.has_messages = self.messages.is_dir()

    def compile_command(self, source, arguments, first_roots=()):
        """Compiles `source`; headers are looked for in `first_roots` before the project's own."""
        roots = list(first_roots) + [self.source / root for root in INCLUDE_ROOTS]
        includes = [f"-I{root}" for root in roots] + ["-isystem", self.libcudacxx]
        if self.has_messages:
            includes += ["-isystem", str(self.messages)]
        launcher = self.launcher if "-c" in arguments else []
        return [*launcher, self.compiler, *self.flags, *includes, *arguments, str(source)]

    def precompiled(self):
        """The arguments that use the precompiled third-party headers; none with a compiler cache,
        which could not keep what was compiled with them. A compiler that finds them stale reads the
        text."""
        if self.launcher:
            return []
        folder = self.binaries / "precompiled"
        folder.mkdir(parents=True, exist_ok=True)
        header, compiled = folder / "third_party.hpp", folder / "third_party.hpp.gch"
        with open(folder / "lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not compiled.exists():
                header.write_text("".join(f"#include <{name}>\n" for name in THIRD_PARTY))
                arguments = ["-Wpedantic", "-x", "c++-header", "-o", str(compiled)]
                code, output = run(self.compile_command(header, arguments))
                if code != 0:
                    raise ToolchainError(f"the third-party headers do not compile:\n{output}")
        # The precompiled headers serve only a compiler that is as pedantic as theirs.
        return ["-Wpedantic", "-include", str(header)]

    def link_command(self, objects, output):
        inputs = [*map(str, objects), self.main, *self.libraries]
        return [self.compiler, *self.flags, *inputs, "-o", str(output)]

    def linker(self):
        """What the linker says of itself."""
        return run([self.compiler, "-Wl,--version"])[1]


def run(command, timeout_s=300):
    """Runs `command`; its exit code and everything it printed."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        timeout=timeout_s, check=False)
    return done.returncode, done.stdout
