"""The compiler of the build, as test/CMakeLists.txt describes it in toolchain.json."""

import json
import pathlib
import subprocess

INCLUDE_ROOTS = ["include", "hostsetup/include", "hostsetup/simt/include", "hostsetup/src",
                 "firmware", "test"]
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wpedantic", "-Wno-missing-field-initializers",
            "-Werror"]


class Toolchain:
    def __init__(self, path):
        described = json.loads(pathlib.Path(path).read_text())
        self.source = pathlib.Path(described["source"])
        self.main = described["main"]
        self.libraries = described["libraries"]
        self.binaries = pathlib.Path(described["binaries"])
        self._compiler = described["compiler"]
        self.launcher = [described["launcher"]] if described["launcher"] else []
        self._flags = described["flags"]
        self._libcudacxx = described["libcudacxx"]

    def compile_command(self, source, arguments, first_roots=()):
        """Compiles `source`; headers are looked for in `first_roots` before the project's own."""
        roots = list(first_roots) + [self.source / root for root in INCLUDE_ROOTS]
        includes = [f"-I{root}" for root in roots] + ["-isystem", self._libcudacxx]
        launcher = self.launcher if "-c" in arguments else []
        return [*launcher, self._compiler, *self._flags, *includes, *arguments, str(source)]

    def link_command(self, objects, output):
        inputs = [*map(str, objects), self.main, *self.libraries]
        return [self._compiler, *self._flags, *inputs, "-o", str(output)]


def run(command, timeout_s=300):
    """Runs `command`; its exit code and everything it printed."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        timeout=timeout_s, check=False)
    return done.returncode, done.stdout
