"""Compiles files by themselves, but not those that compiled before from the same.

What compiled alone compiles again as long as nothing that it may include changes, nor the compiler
and its flags. The hashes of all that did are in alone.json; a file compiles when its hash is not
there, when its turn has come (each day a tenth), and when GNSTOR_BUGS=all. See bugs/verdicts.py,
whose rules these are.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "bugs"))
from verdicts import NoVerdict, day, has_its_turn, may_include  # noqa: E402

FILE = HERE / "alone.json"


class Alone:
    """The hashes that are kept, and those of this run."""

    def __init__(self, kind, source, compiler, tool, file=FILE):
        """`kind` of what is compiled, by the script `tool`: each has a part of the file."""
        self.kind, self.source, self.file = kind, pathlib.Path(source), file
        said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
        self._common = said.stdout + "".join(
            pathlib.Path(script).read_text() for script in (__file__, tool))
        try:
            self._kept = json.loads(file.read_text())[kind]
        except (OSError, ValueError, KeyError, TypeError):
            self._kept = {}
        self.compiled = {}

    def inputs(self, name, command):
        """The hash of what `name` (a path in the project) is compiled from by `command`, in which
        no folder of this machine is; empty if only a compiler can tell."""
        digest = hashlib.sha256()
        try:
            files = sorted(may_include(self.source, {name}))
            for part in [self._common, command, *files]:
                digest.update(b"%d:" % len(part) + part.encode())
            for file in files:
                content = (self.source / file).read_bytes()
                digest.update(b"%d:" % len(content) + content)
        except (NoVerdict, OSError):
            return ""
        return digest.hexdigest()[:16]

    def has_to_compile(self, name, now):
        return (os.environ.get("GNSTOR_BUGS") == "all" or not now or self._kept.get(name) != now or
                has_its_turn(name, day()))

    def check(self, items, compile_one, jobs):
        """Compiles `items`, pairs of a name and its command, as far as they have to be:
        `compile_one(name)` gives the exit code and what was printed. True if none failed."""
        hashes = {name: self.inputs(name, command) for name, command in items}
        waiting = [name for name, now in hashes.items() if self.has_to_compile(name, now)]
        failed = set()
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for name, (code, output) in zip(waiting, pool.map(compile_one, waiting)):
                if code != 0:
                    failed.add(name)
                    print(f"{name} does not compile alone:\n{output}")
        self.compiled = {n: h for n, h in hashes.items() if h and n not in failed}
        print(f"{len(hashes)} {self.kind}, {len(waiting)} compiled, {len(failed)} failed")
        return not failed and bool(hashes)

    def leave(self, folder):
        """Leaves what compiled to `keep`."""
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.kind}.json").write_text(json.dumps(self.compiled))


def keep(folders, file=FILE):
    """Puts what was left in `folders` into the file; how many hashes are new."""
    try:
        kept = json.loads(file.read_text())
    except (OSError, ValueError):
        kept = {}
    new = 0
    for folder in folders:
        for path in sorted(pathlib.Path(folder).glob("*.json")):
            compiled = json.loads(path.read_text())
            path.unlink()
            new += sum(kept.get(path.stem, {}).get(name) != now for name, now in compiled.items())
            kept[path.stem] = dict(sorted(compiled.items()))
    file.write_text(json.dumps(kept, indent=1) + "\n")
    return new


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] != "keep":
        sys.exit(f"{__doc__}\n    alone.py keep FOLDER...    what was left there, into alone.json")
    print(f"{keep(sys.argv[2:])} files new or changed")
