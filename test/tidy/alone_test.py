#!/usr/bin/env python3
"""Tests of alone.py: what has to compile again, and what is kept."""

import io
import json
import os
import pathlib
import tempfile
import unittest
from contextlib import redirect_stdout
from unittest import mock

import alone

SOURCE = {"include/gnstor/a.hpp": "#pragma once\n#include <gnstor/b.hpp>\n",
          "include/gnstor/b.hpp": "#pragma once\n",
          "include/gnstor/c.hpp": "#pragma once\n"}


class AloneTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.kept = self.root / "alone.json"
        for name, text in SOURCE.items():
            self.write(name, text)
        environment = mock.patch.dict(os.environ, {"GNSTOR_DAY": "0"})
        environment.start()
        self.addCleanup(environment.stop)
        os.environ.pop("GNSTOR_BUGS", None)
        never = mock.patch.object(alone, "has_its_turn", lambda name, today: False)
        never.start()
        self.addCleanup(never.stop)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def compile(self, broken=(), command="-O2"):
        """(sound, the names that were compiled); what compiled is kept."""
        compiled = []

        def one(name):
            compiled.append(name)
            return (1, "an error") if name in broken else (0, "")
        checked = alone.Alone("headers", self.root, "true", __file__, self.kept)
        with redirect_stdout(io.StringIO()) as said:
            sound = checked.check([(name, command) for name in SOURCE], one, 1)
        for name in broken:
            self.assertIn(f"{name} does not compile alone:\nan error", said.getvalue())
        checked.leave(self.root / "left")
        alone.keep([self.root / "left"], self.kept)
        return sound, {pathlib.Path(name).stem for name in compiled}

    def test_compiles_again_what_may_include_a_changed_file_and_nothing_else(self):
        self.assertEqual(self.compile(), (True, {"a", "b", "c"}))
        self.assertEqual(self.compile(), (True, set()))
        self.write("include/gnstor/b.hpp", "#pragma once\nint b;\n")
        self.assertEqual(self.compile(), (True, {"a", "b"}))

    def test_compiles_all_by_another_command_or_when_asked(self):
        self.compile()
        self.assertEqual(self.compile(command="-O3"), (True, {"a", "b", "c"}))
        with mock.patch.dict(os.environ, {"GNSTOR_BUGS": "all"}):
            self.assertEqual(self.compile(command="-O3"), (True, {"a", "b", "c"}))

    def test_a_failure_is_no_verdict(self):
        name = "include/gnstor/c.hpp"
        self.assertEqual(self.compile(broken=[name]), (False, {"a", "b", "c"}))
        self.assertEqual(self.compile(broken=[name]), (False, {"c"}))
        self.assertEqual(self.compile(), (True, {"c"}))

    def test_a_new_header_that_hides_another_changes_what_is_included(self):
        self.compile()
        self.write("test/gnstor/b.hpp", "#pragma once\n")
        self.assertEqual(self.compile(), (True, {"a"}))

    def test_what_has_its_turn_compiles(self):
        self.compile()
        with mock.patch.object(alone, "has_its_turn", lambda name, today: "c" in name):
            self.assertEqual(self.compile()[1] >= {"c"}, True)

    def test_a_computed_include_has_no_verdict(self):
        self.write("include/gnstor/c.hpp", "#pragma once\n#include WHICH\n")
        self.compile()
        self.assertEqual(self.compile(), (True, {"c"}))

    def test_a_broken_file_of_hashes_means_all(self):
        self.compile()
        self.kept.write_text("[1, 2")
        self.assertEqual(self.compile(), (True, {"a", "b", "c"}))

    def test_nothing_to_compile_is_a_failure(self):
        checked = alone.Alone("headers", self.root, "true", __file__, self.kept)
        with redirect_stdout(io.StringIO()):
            self.assertFalse(checked.check([], None, 1))

    def test_keeps_each_kind_apart(self):
        self.compile()
        other = alone.Alone("sources", self.root, "true", __file__, self.kept)
        with redirect_stdout(io.StringIO()):
            other.check([("include/gnstor/b.hpp", "")], lambda name: (0, ""), 1)
        other.leave(self.root / "left")
        self.assertEqual(alone.keep([self.root / "left"], self.kept), 1)
        self.assertEqual(set(json.loads(self.kept.read_text())), {"headers", "sources"})


if __name__ == "__main__":
    unittest.main()
