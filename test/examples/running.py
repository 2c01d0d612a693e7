"""Runs a program in a folder of its own, for the tests of the examples."""

import pathlib
import subprocess
import tempfile


class Folder:
    """A temporary folder with files that programs run in."""

    def __init__(self):
        self._owner = tempfile.TemporaryDirectory(prefix="gnstor_examples_")
        self.path = pathlib.Path(self._owner.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._owner.cleanup()

    def write(self, name, content):
        path = self.path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def content(self):
        """Every file here with its bytes; folders with None."""
        return {path.relative_to(self.path).as_posix(): None if path.is_dir() else path.read_bytes()
                for path in self.path.rglob("*")}

    def run(self, program, *arguments):
        """Runs a program here. Returns (exit status, what it printed)."""
        done = subprocess.run([pathlib.Path(program).resolve(), *arguments], cwd=self.path,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=110,
                              check=False)
        return done.returncode, done.stdout.decode(errors="replace")


def figure(printed, name):
    """The value of a figure in what an example printed, None if it is not there."""
    for line in printed.splitlines():
        if line[:14].strip() == name:
            return line[14:].strip()
    return None
