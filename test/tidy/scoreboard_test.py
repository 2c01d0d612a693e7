#!/usr/bin/env python3
"""Checks that scripts/scoreboard fails on what it must, and passes what is listed or holds."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCOREBOARD = pathlib.Path(__file__).resolve().parents[2] / "scripts/scoreboard"
TARGET = {"name": "reads", "benchmark": "read/4096", "counter": "ratio", "bound": 0.9,
          "direction": "at least", "source": "an issue"}
RATE = {"name": "read/4096", "run_name": "read/4096", "ratio": 0.95}


class Scoreboard(unittest.TestCase):
    """A repository with one program, its targets and its results."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "results").mkdir()
        self.git("init", "-q")
        self.commit = self.change("program", "first")

    def git(self, *arguments):
        done = subprocess.run(
            ["git", "-C", str(self.root), "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
            check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()

    def change(self, file, text):
        (self.root / file).write_text(text)
        self.git("add", file)
        self.git("commit", "-q", "-m", "change")
        return self.git("rev-parse", "--short=12", "HEAD")

    def result(self, entries, date="2026-01-01", commit=None, program="reader"):
        commit = commit or self.commit
        context = {"date": date, "commit": commit, "machine": "box"}
        (self.root / f"results/{program}-box-{commit}{date}.json").write_text(
            json.dumps({"context": context, "benchmarks": entries}))

    def run_on(self, targets, *arguments, paths=None):
        described = {"paths": paths or {"reader": ["program"]}, "targets": targets}
        (self.root / "targets.json").write_text(json.dumps(described))
        done = subprocess.run(
            [sys.executable, str(SCOREBOARD), "--targets", str(self.root / "targets.json"),
             "--results", str(self.root / "results"), "--source", str(self.root), *arguments],
            check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.said = done.stdout
        return done.returncode

    def listed(self, **reasons):
        return {**TARGET, "listed": {key.replace("_", " "): why for key, why in reasons.items()}}

    def test_a_figure_that_holds_passes(self):
        self.result([RATE])
        self.assertEqual(self.run_on([TARGET], "--strict"), 0, self.said)
        self.assertIn("1 hold, 0 fail, 0 stale", self.said)

    def test_a_bound_from_above_is_one(self):
        most = {**TARGET, "direction": "at most"}
        self.result([RATE])
        self.assertEqual(self.run_on([most]), 1)
        self.assertEqual(self.run_on([{**most, "bound": 0.95}]), 0, self.said)

    def test_a_missing_figure_fails_unless_it_is_listed(self):
        self.assertEqual(self.run_on([TARGET]), 1)
        self.assertIn("FAILS: reads: not measured", self.said)
        other = {"name": "read/4", "run_name": "read/4", "ratio": 1}
        self.result([{**RATE, "ratio": "much"}, other])
        self.assertEqual(self.run_on([TARGET]), 1)
        self.assertEqual(self.run_on([self.listed(not_measured="no such box")]), 0, self.said)
        self.assertIn("no such box", self.said)

    def test_a_short_figure_fails_unless_it_is_listed_as_short(self):
        self.result([{**RATE, "ratio": 0.5}])
        self.assertEqual(self.run_on([TARGET]), 1)
        self.assertIn("FAILS: reads: short", self.said)
        self.assertEqual(self.run_on([self.listed(not_measured="no such box")]), 1)
        self.assertEqual(self.run_on([self.listed(short="out of reach")]), 0, self.said)
        self.assertIn("out of reach", self.said)

    def test_one_bad_row_fails_among_good_ones(self):
        self.result([RATE])
        missing = {**TARGET, "name": "writes", "benchmark": "write/4096"}
        self.assertEqual(self.run_on([TARGET, missing, TARGET]), 1)
        self.assertIn("2 hold, 1 fail", self.said)

    def test_the_newest_measurement_counts_even_if_it_failed(self):
        self.result([{**RATE, "ratio": 0.1}], date="2026-01-01")
        self.result([RATE], date="2026-01-02")
        self.assertEqual(self.run_on([TARGET]), 0, self.said)
        self.result([{**RATE, "error_occurred": True}], date="2026-01-03")
        self.assertEqual(self.run_on([TARGET]), 1)
        self.assertIn("FAILS: reads: failed", self.said)

    def test_the_median_of_repetitions_counts(self):
        self.result([{**RATE, "ratio": 0.99}, {**RATE, "ratio": 0.3, "aggregate_name": "median"}])
        self.assertEqual(self.run_on([TARGET]), 1)

    def test_other_code_makes_a_figure_stale_which_fails_only_when_strict(self):
        self.result([RATE])
        self.change("elsewhere", "second")
        self.assertEqual(self.run_on([TARGET], "--strict"), 0, self.said)
        self.change("program", "second")
        self.assertEqual(self.run_on([TARGET]), 0, self.said)
        self.assertIn("stale: 1 figures of " + self.commit, self.said)
        self.assertEqual(self.run_on([TARGET], "--strict"), 1)
        self.assertIn("FAILS: reads: stale: other code since", self.said)

    def test_what_is_not_committed_makes_a_figure_stale(self):
        self.result([RATE])
        (self.root / "program").write_text("third")
        self.assertEqual(self.run_on([TARGET], "--strict"), 1)

    def test_a_listed_figure_may_not_be_stale_when_strict(self):
        self.result([{**RATE, "ratio": 0.5}])
        self.change("program", "second")
        self.assertEqual(self.run_on([self.listed(short="out of reach")], "--strict"), 1)

    def test_a_measurement_whose_sources_nobody_knows_is_stale(self):
        for commit in (self.commit + "-dirty", "0123456789ab"):
            self.result([RATE], date=f"2026-01-0{len(commit) % 9}", commit=commit)
            self.assertEqual(self.run_on([TARGET]), 0, self.said)
            self.assertEqual(self.run_on([TARGET], "--strict"), 1)
        self.result([RATE], date="2026-02-01", program="stranger")
        self.assertEqual(self.run_on([TARGET], "--strict"), 1)
        self.assertIn("which paths matter for stranger", self.said)

    def test_a_reason_that_is_not_needed_any_more_fails_when_strict(self):
        self.result([RATE])
        self.assertEqual(self.run_on([self.listed(short="out of reach")]), 0, self.said)
        self.assertIn("listed, but holds: reads", self.said)
        self.assertEqual(self.run_on([self.listed(short="out of reach")], "--strict"), 1)

    def test_a_broken_list_of_targets_is_refused(self):
        self.result([RATE])
        for broken in ({**TARGET, "direction": "about"}, {**TARGET, "bound_": 1},
                       {key: value for key, value in TARGET.items() if key != "bound"},
                       self.listed(short=" "), self.listed(shortish="why")):
            self.assertEqual(self.run_on([broken]), 2, broken)
        self.assertEqual(self.run_on([TARGET], paths={"reader": ["progam"]}), 2)
        self.assertIn("progam", self.said)


if __name__ == "__main__":
    unittest.main()
