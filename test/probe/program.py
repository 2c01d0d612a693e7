#!/usr/bin/env python3
"""Runs gnstor-probe on this machine and on an empty one: exit codes, text, JSON.

Usage: program.py GNSTOR_PROBE
"""

import json
import subprocess
import sys
import tempfile

SCHEMES = ["emu:", "emu:?runner=gpu", "rdma:// by proxy", "rdma:// by ConnectX",
           "disk:", "nvme:// by Linux", "nvme:// by doorbell", "tap:", "eth://"]


def run(*arguments):
    done = subprocess.run([sys.argv[1], *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=50)
    return done.returncode, done.stdout


def check(what, condition):
    if not condition:
        sys.exit(f"gnstor-probe: not so: {what}")


def check_json(where, *arguments):
    code, text = run("--json", *arguments)
    check(f"exit code 0 {where}", code == 0)
    report = json.loads(text)
    endpoints = {endpoint["scheme"]: endpoint for endpoint in report["endpoints"]}
    check(f"all schemes are judged {where}", list(endpoints) == SCHEMES)
    for endpoint in endpoints.values():
        check(f"{endpoint['scheme']} works or has a remedy {where}",
              endpoint["works"] == (endpoint["remedy"] == ""))
    check(f"the emulated array works {where}", endpoints["emu:"]["works"])
    return report


def main():
    report = check_json("on this machine")
    code, text = run()
    check("exit code 0 with text", code == 0)
    for scheme in SCHEMES:
        check(f"the text speaks of {scheme}", scheme in text)
    for device in report["rdma"] + report["gpus"]:
        check(f"the text names {device['name']}", device["name"] in text)
    with tempfile.TemporaryDirectory() as empty:
        nothing = check_json("on an empty machine", "--root", empty)
    works = [endpoint["scheme"] for endpoint in nothing["endpoints"] if endpoint["works"]]
    check("an empty machine runs the emulated array alone", works == ["emu:"])
    for wrong in (["--nonsense"], ["extra"], ["--root", "/nonexistent"]):
        check(f"{wrong} is refused", run(*wrong)[0] != 0)


if __name__ == "__main__":
    main()
