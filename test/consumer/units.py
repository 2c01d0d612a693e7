#!/usr/bin/env python3
"""Looks at installed systemd units: each starts a program that is there and knows its options, and
systemd finds nothing wrong with it.

    units.py PREFIX
"""

import pathlib
import re
import shutil
import subprocess
import sys


def main(prefix):
    units = sorted(pathlib.Path(prefix, "lib/systemd/system").glob("*.service"))
    assert {"gnstord.service"} <= {unit.name for unit in units}, units
    for unit in units:
        text = unit.read_text(encoding="utf-8")
        assert "@" not in text, f"{unit} has something left to be filled in"
        program, option, config = re.search(r"^ExecStart=(\S+) (--config) (\S+)$", text,
                                            re.M).groups()
        assert pathlib.Path(program) == pathlib.Path(prefix, "bin", unit.stem), program
        usage = subprocess.run([program, "--help"], capture_output=True, text=True, check=True)
        assert option in usage.stdout, f"{program} has no {option}"
        assert config == f"/etc/gnstor/{unit.stem}.toml", config
        if shutil.which("systemd-analyze"):
            said = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)],
                                  capture_output=True, text=True, check=False)
            faults = [line for line in said.stderr.splitlines() if unit.name in line]
            assert not faults, faults


if __name__ == "__main__":
    main(*sys.argv[1:])
