#!/usr/bin/env python3
"""Runs gnstor-files on an XFS that mkfs.xfs has filled, as the disk of an emulated controller.

    files.py PROGRAM
"""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
failures = 0


def check(holds, *words):
    global failures
    if not holds:
        failures += 1
        print("FAILED:", *words)


def run(*words, text=True):
    done = subprocess.run(words, capture_output=True, text=text, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def make_disk(folder, mkfs):
    """An XFS with three files; their bytes by their paths."""
    contents = {"/one": os.urandom(100_000), "/train/two": os.urandom(3_000), "/train/empty": b""}
    for name, data in contents.items():
        (folder / name.replace("/", "_")).write_bytes(data)
    (folder / "proto").write_text(
        f"/\n0 0\nd--755 0 0\none ---644 0 0 {folder}/_one\ntrain d--755 0 0\n"
        f"two ---644 0 0 {folder}/_train_two\nempty ---644 0 0 {folder}/_train_empty\n$\n$\n")
    disk = folder / "disk"
    disk.write_bytes(b"")
    os.truncate(disk, 24 << 20)
    # With these variables mkfs.xfs makes file systems as small as its own tests use.
    environment = {**os.environ, "TEST_DIR": "1", "TEST_DEV": "1", "QA_CHECK_FS": "1"}
    subprocess.run([mkfs, "-q", "-p", folder / "proto", disk], env=environment, check=True)
    return f"emu-nvme:?lba=512&media=file&bytes=24M&file={disk}", contents


def main():
    program = sys.argv[1]
    mkfs = shutil.which("mkfs.xfs", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not mkfs:
        print("skipped: mkfs.xfs is not here (Debian's package xfsprogs)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        disk, contents = make_disk(folder, mkfs)
        code, out, err = run(program, "--format", "json", "list", "--endpoint", disk)
        listed = {"/" + one["path"]: one for one in map(json.loads, out.splitlines())}
        check(code == 0 and set(listed) == {*contents, "/train"}, "list", out, err)
        check(all(listed[path]["bytes"] == len(data) for path, data in contents.items()), listed)
        code, out, _ = run(program, "list", "--endpoint", disk, "/train")
        check(code == 0 and out.split()[-1] in ("two", "empty") and "one" not in out, out)
        for path, data in contents.items():
            code, out, err = run(program, "read", "--endpoint", disk, path, text=False)
            check(code == 0 and out == data, "read", path, hashlib.sha256(out).hexdigest(), err)
        code, out, _ = run(program, "extents", "--endpoint", disk, "/one")
        check(code == 0 and "data" in out and "100000" in out, out)
        for way in ("cpu", "device"):
            code, out, err = run(program, "--format", "json", "iterate", "--endpoint", disk,
                                 "--way", way, "--seed", "3", "--passes", "2")
            said = json.loads(out) if code == 0 else {}
            check(said.get("files") == 6 and said.get("bytes") == 2 * 103_000, way, out, err)
        for words, wanted in {
                ("read", "--endpoint", disk, "/none"): "none",
                ("read", "--endpoint", disk, "/train"): "directory",
                ("list", "--endpoint", "emu-nvme:?bytes=24M"): "no XFS",
                ("list", "--endpoint", "emu:"): "volume",
                ("iterate", "--endpoint", disk, "--verify"): "--folder",
                ("iterate", "--endpoint", disk, "--folder", "/nowhere"): "No such file",
        }.items():
            code, out, err = run(program, *words)
            check(code == 1 and wanted in err and not out, *words, code, out, err)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
