#!/usr/bin/env python3
"""Checks that scripts/figures fills the pages' tables, and finds what is out of date."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

FIGURES = pathlib.Path(__file__).resolve().parents[2] / "scripts/figures"
CELL = {"benchmark": "read/4096", "counter": "ns", "scale": 0.001, "digits": 1}
TABLES = {"reads": {"head": ["what", "us"], "rows": [["a read", CELL]]}}
TARGET = {"name": "reads", "benchmark": "read/4096", "counter": "ns", "bound": 5000,
          "direction": "at most", "source": "an issue", "listed": {"short": "slow box"}}
PAGE = "before\n<!-- figures: {} -->\n{}<!-- end figures -->\nafter\n"


class Figures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "docs").mkdir()
        (self.root / "benchmark/results").mkdir(parents=True)
        (self.root / "README.md").write_text("nothing\n")
        self.write("benchmark/targets.json", {"paths": {}, "targets": [TARGET]})
        self.write("docs/figures.json", TABLES)
        self.result(8440, "2026-01-01")
        self.page = self.root / "docs/room/page.md"
        self.page.parent.mkdir()
        self.page.write_text(PAGE.format("reads", ""))

    def write(self, file, value):
        (self.root / file).write_text(json.dumps(value))

    def result(self, ns, date):
        entry = {"name": "read/4096", "run_name": "read/4096", "ns": ns}
        self.write(f"benchmark/results/reader-box-{date}.json",
                   {"context": {"date": date, "commit": date, "machine": "box"},
                    "benchmarks": [entry]})

    def run_it(self, *arguments):
        done = subprocess.run([sys.executable, str(FIGURES), "--source", str(self.root),
                               *arguments], check=False, stdout=subprocess.PIPE, text=True)
        self.said = done.stdout
        return done.returncode

    def test_a_table_is_filled_and_stays_until_a_newer_result_comes(self):
        self.assertEqual(self.run_it("--check"), 1)
        self.assertIn("page.md", self.said)
        self.assertEqual(self.run_it(), 0, self.said)
        text = self.page.read_text()
        self.assertIn("| a read | 8.4 |", text)
        self.assertIn("Measured: box, 2026-01-01.", text)
        self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))
        self.assertEqual(self.run_it("--check"), 0, self.said)
        self.result(3160, "2026-01-02")
        self.assertEqual(self.run_it("--check"), 1)
        self.assertEqual(self.page.read_text(), text)
        self.run_it()
        self.assertIn("| a read | 3.2 |", self.page.read_text())

    def test_a_figure_that_was_changed_by_hand_is_found(self):
        self.run_it()
        self.page.write_text(self.page.read_text().replace("8.4", "7.4"))
        self.assertEqual(self.run_it("--check"), 1)

    def test_the_targets_show_figure_bound_and_reason(self):
        self.write("docs/figures.json", {})
        self.page.write_text(PAGE.format("targets", ""))
        self.assertEqual(self.run_it(), 0, self.said)
        self.assertIn("| reads | 8.44e+03 | ≤ 5000 | short: slow box |", self.page.read_text())

    def test_many_machines_take_several_lines(self):
        for k in range(9):
            entry = {"name": f"read/{k}", "run_name": f"read/{k}", "ns": k}
            self.write(f"benchmark/results/reader-box-{k}.json",
                       {"context": {"date": "2026-01-01", "commit": f"commit{k}",
                                    "machine": "a-machine-of-some-name"}, "benchmarks": [entry]})
        cells = [{"benchmark": f"read/{k}", "counter": "ns"} for k in range(9)]
        table = {"head": ["what", "ns"], "rows": [["all", cells]]}
        self.write("docs/figures.json", {"reads": table})
        self.assertEqual(self.run_it(), 0, self.said)
        lines = self.page.read_text().splitlines()
        self.assertLessEqual(max(map(len, lines)), 100)
        self.assertGreater(sum("a-machine-of-some-name" in line for line in lines), 1)

    def test_a_table_without_a_result_a_description_or_a_page_is_refused(self):
        self.write("docs/figures.json", {**TABLES, "writes": TABLES["reads"]})
        self.assertEqual(self.run_it(), 1)
        self.assertIn("no page shows writes", self.said)
        self.page.write_text(PAGE.format("other", ""))
        self.assertEqual(self.run_it(), 1)
        self.assertIn("no table other", self.said)
        missing = {**CELL, "counter": "us"}
        self.write("docs/figures.json",
                   {"reads": {"head": ["what", "us"], "rows": [["a read", missing]]}})
        self.page.write_text(PAGE.format("reads", ""))
        self.assertEqual(self.run_it(), 1)
        self.assertIn("no result has us of read/4096", self.said)


if __name__ == "__main__":
    unittest.main()
