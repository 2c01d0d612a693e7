"""The kept results of the benchmarks: what was measured, by which program, of which sources."""

import collections
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmark/results"
TARGETS = ROOT / "benchmark/targets.json"

# One benchmark of one run; figures: {counter: number}, empty if it failed.
Measurement = collections.namedtuple("Measurement",
                                     "name figures program commit machine failed")


def of_file(path):
    """Every benchmark of a Google Benchmark file; of repetitions, the median."""
    result = json.loads(path.read_text())
    context = result["context"]
    commit, machine = context.get("commit", "?"), context.get("machine", "?")
    program = path.name.partition("-")[0]  # PROGRAM-MACHINE-COMMIT.json
    medians = {entry["run_name"] for entry in result["benchmarks"]
               if entry.get("aggregate_name") == "median"}
    for entry in result["benchmarks"]:
        if entry["run_name"] in medians and entry.get("aggregate_name") != "median":
            continue
        failed = bool(entry.get("error_occurred"))
        figures = {} if failed else {key: value for key, value in entry.items()
                                     if isinstance(value, (int, float))}
        yield Measurement(entry["run_name"], figures, program, commit, machine, failed)


def all_of(folder=RESULTS):
    """Every benchmark of every result file, the newest file first."""
    paths = sorted(folder.glob("*.json"))
    dates = {path: json.loads(path.read_text())["context"]["date"] for path in paths}
    for path in sorted(paths, key=lambda path: dates[path], reverse=True):
        yield from of_file(path)


def newest(measured, benchmark, counter):
    """The newest measurement of a figure, or that failed to measure it; None if there is none."""
    for one in measured:
        if one.name != benchmark and not one.name.startswith(benchmark + "/"):
            continue
        if one.failed or counter in one.figures:
            return one
    return None


class Age:
    """Says whether what was measured is what the sources are now."""

    def __init__(self, paths, root=ROOT):
        self.paths, self.root, self.known = paths, root, {}

    def changed(self, one):
        """Why a measurement is stale, or an empty string."""
        key = (one.program, one.commit)
        if key not in self.known:
            self.known[key] = self.look(one)
        return self.known[key]

    def look(self, one):
        if one.program not in self.paths:
            return f"targets.json does not say which paths matter for {one.program}"
        if one.commit.endswith("-dirty"):
            return "measured with changes that no commit has"
        if self.git("cat-file", "-e", one.commit + "^{commit}") != 0:
            return "its commit is not here"
        if self.git("diff", "--quiet", one.commit, "--", *self.paths[one.program]) != 0:
            return "other code since"
        return ""

    def git(self, *arguments):
        try:
            return subprocess.run(["git", "-C", str(self.root), *arguments], check=False,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
        except FileNotFoundError:
            return 1
