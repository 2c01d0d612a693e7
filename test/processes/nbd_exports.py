#!/usr/bin/env python3
"""Volumes of a managed array over NBD: nbdkit with our plugin beside gnstor-target, all of them
processes; SSDs fail, a server is killed, another host takes over, and a lease is revoked.

Usage: nbd_exports.py BUILD_FOLDER
"""

import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

import rig

BLOCK = 4096
BLOCKS = 2048
try:
    import nbd
except ImportError:
    nbd = None


class Export:
    """An nbdkit that exports a volume."""

    def __init__(self, programs, folder, name, words):
        self.socket, self.output = folder / f"{name}.sock", folder / f"{name}.txt"
        plugin = programs.build / "nbd" / "gnstor-plugin.so"
        with open(self.output, "a", encoding="utf-8") as into:
            self.process = subprocess.Popen(
                ["nbdkit", "-f", "-U", self.socket, "--threads", "16", plugin, *words],
                env={**os.environ, "LD_PRELOAD": str(programs.model)}, stdout=into, stderr=into)
        rig.check(rig.eventually(lambda: self.socket.exists() or self.process.poll() is not None)
                  and self.process.poll() is None, name, "does not start:", self.said())

    def said(self):
        return self.output.read_text()

    def connect(self):
        h = nbd.NBD()
        h.connect_uri(f"nbd+unix:///?socket={self.socket}")
        return h

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        code = self.process.wait(60)
        self.socket.unlink(missing_ok=True)
        return code


def printed_words(target, volume, *more):
    """What `gnstorctl volume export` prints, without nbdkit's own options."""
    code, said = target.gnstorctl("volume", "export", volume, *more)
    rig.check(code == 0, "gnstorctl volume export", said)
    words = shlex.split(said)
    plugin = target.programs.build / "nbd/gnstor-plugin.so"
    rig.check(words[0] == "nbdkit" and str(plugin) in words, "it is a command of nbdkit:", said)
    return [w for w in words if "=" in w]


class Writer:
    """Writes blocks of its own through a connection, reads them back, and remembers them."""

    def __init__(self, export, seed):
        self.export, self.draw = export, random.Random(seed)
        self.held, self.failed, self.done, self.stopping = {}, "", 0, False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        h = self.export.connect()
        try:
            while not self.stopping:
                block, fill = self.draw.randrange(BLOCKS), self.draw.randrange(1, 256)
                h.pwrite(bytes([fill]) * BLOCK, block * BLOCK)
                self.held[block] = fill
                at = self.draw.choice(list(self.held))
                if h.pread(BLOCK, at * BLOCK) != bytes([self.held[at]]) * BLOCK:
                    self.failed = f"block {at} is not what was written"
                    return
                self.done += 1
        except nbd.Error as e:
            self.failed = str(e)

    def until(self, more):
        before = self.done
        return rig.eventually(lambda: self.done >= before + more or self.failed)

    def stop(self):
        self.stopping = True
        self.thread.join()


def holds(h, held):
    return all(h.pread(BLOCK, b * BLOCK) == bytes([fill]) * BLOCK for b, fill in held.items())


def failing_ssds(target, export):
    writer = Writer(export, 1)
    rig.check(writer.until(100), "nothing is written", writer.failed)
    for ssd in ("1", "3"):
        for verb in ("detach", "replace"):
            code, said = target.gnstorctl("ssd", verb, ssd)
            rig.check(code == 0, "gnstorctl ssd", verb, ssd, said)
            writer.until(50)
        rig.check(rig.eventually(target.healthy), "the array is not in sync again")
    writer.until(100)
    writer.stop()
    rig.check(not writer.failed, "a client sees that SSDs fail:", writer.failed, export.said())
    print(f"{writer.done} blocks were written and read while two SSDs failed and came back")
    return writer.held


def started_again(target, export, held):
    """The target is killed under a client, and started again: its requests wait, and go on."""
    h = export.connect()
    writer = Writer(export, 2)
    for _ in range(3):
        writer.until(50)
        target.end(signal.SIGKILL)
        target.start()
    writer.until(50)
    writer.stop()
    rig.check(not writer.failed, "a client sees that the target was started again:",
              writer.failed, export.said())
    held.update(writer.held)
    rig.check(holds(h, held), "what was acknowledged is there after the target's restart")
    print(f"the target was killed three times under a client, which wrote {writer.done} blocks")


def away(programs, folder, target, held):
    """A target that stays away costs requests their time, and no more: when it is back, they go
    on."""
    target.gnstorctl("volume", "share", "disk", "third")
    third = Export(programs, folder, "third", [*printed_words(target, "disk", "--read-only"),
                                               "host-name=third", "timeout=2"])
    h = third.connect()
    target.end(signal.SIGKILL)
    began = time.monotonic()
    try:
        h.pread(BLOCK, 0)
        rig.check(False, "a target that is away answers")
    except nbd.Error as e:
        rig.check(e.errno == "EIO", "a target that is away: EIO, not", e)
    rig.check(time.monotonic() - began < 10, "a request takes", time.monotonic() - began, "s")
    target.start()

    def reads():
        try:
            return holds(h, held)
        except nbd.Error:
            return False
    rig.check(rig.eventually(reads), "reads go on when the target is back", third.said())
    h.shutdown()
    rig.check(third.end() == 0, "nbdkit ends in order", third.said())
    print("a target was away for longer than a request may take")


def changed(programs, folder, target):
    """A volume that has grown is seen by the next connection; so is one of the same name that was
    made after it was deleted, and that there is none."""
    def gnstorctl(*words):
        code, said = target.gnstorctl(*words)
        rig.check(code == 0, "gnstorctl", *words, said)

    gnstorctl("volume", "create", "other", "--size", "8M", "--owner", "changed")
    export = Export(programs, folder, "changed",
                    [*printed_words(target, "other"), "host-name=changed"])
    before = export.connect()
    before.pwrite(b"g" * BLOCK, 0)
    gnstorctl("volume", "grow", "other", "--size", "16M")
    h = export.connect()
    rig.check(h.get_size() == 16 << 20, "a grown volume has", h.get_size(), "bytes")
    rig.check(h.pread(BLOCK, 0) == b"g" * BLOCK, "what was there before it grew is there")
    h.pwrite(b"h" * BLOCK, (16 << 20) - BLOCK)
    rig.check(before.pread(BLOCK, 0) == b"g" * BLOCK, "an older connection goes on")
    h.shutdown()
    gnstorctl("lease", "revoke", "other", "changed")
    h = export.connect()  # the owner gets its right again
    rig.check(not h.is_read_only(), "the next connection may write")
    try:
        before.pwrite(b"o" * BLOCK, 0)
        rig.check(False, "who lost the right before writes beside who has it")
    except nbd.Error as e:
        rig.check(e.errno == "EPERM", "a right that was lost: EPERM, not", e)
    h.shutdown()
    gnstorctl("lease", "revoke", "other", "changed")
    gnstorctl("volume", "delete", "other", "--yes")
    try:
        before.pread(BLOCK, 0)
        rig.check(False, "a volume that was deleted is read")
    except nbd.Error as e:
        rig.check(e.errno == "ESHUTDOWN", "a volume that was deleted: ESHUTDOWN, not", e)
    try:
        export.connect()
        rig.check(False, "a volume that was deleted is exported")
    except nbd.Error:
        rig.check("other" in export.said(), "the server says which volume is gone", export.said())
    gnstorctl("volume", "create", "other", "--size", "12M", "--owner", "changed")
    h = export.connect()
    rig.check(h.get_size() == 12 << 20, "a volume made anew has", h.get_size(), "bytes")
    rig.check(h.pread(BLOCK, 0) == bytes(BLOCK), "and nothing of its predecessor")
    try:
        before.pread(BLOCK, 0)
        rig.check(False, "a connection of the predecessor reads its successor")
    except nbd.Error as e:
        rig.check(e.errno == "ESHUTDOWN", "a predecessor's connection: ESHUTDOWN, not", e)
    before.shutdown()
    h.pwrite(b"n" * BLOCK, 0)
    h.shutdown()
    rig.check(export.end() == 0, "nbdkit ends in order", export.said())
    gnstorctl("volume", "delete", "other", "--yes")
    print("an export followed its volume: grown, deleted, made anew")


def two_hosts(programs, folder, target, first, held):
    """The second server exports it to be read while the first may write; kill -9 of the first
    gives it the right."""
    target.gnstorctl("volume", "share", "disk", "second")
    second = Export(programs, folder, "second",
                    [*printed_words(target, "disk"), "host-name=second"])
    h = second.connect()
    rig.check(h.is_read_only(), "who may not write exports it to be read")
    rig.check(holds(h, held), "the other host reads what was written")
    h.shutdown()
    first.end(signal.SIGKILL)

    def writable():
        looks = second.connect()
        right = not looks.is_read_only()
        looks.shutdown()
        return right
    rig.check(rig.eventually(writable, 10), "the second server gets the right", second.said())
    h = second.connect()
    rig.check(holds(h, held), "nothing that was acknowledged is lost")
    h.pwrite(b"y" * BLOCK, BLOCK)
    h.flush()
    print("a second server took over from one that was killed")
    return second, h


def revoked(target, export, h):
    code, said = target.gnstorctl("lease", "revoke", "disk", "second")
    rig.check(code == 0, "gnstorctl lease revoke", said)
    try:
        h.pwrite(b"z" * BLOCK, BLOCK)
        rig.check(False, "a revoked lease still writes")
    except nbd.Error as e:
        rig.check(e.errno == "EPERM", "a revoked lease ends with EPERM, not", e)
    rig.check("right to write it has been lost" in export.said(), "the server says why")


def main():
    missing = [c for c in ("nbdkit", "nbdsh") if not shutil.which(c)]
    if missing or nbd is None:
        print("skipped: apt-get install nbdkit python3-libnbd")
        return rig.SKIPPED
    programs = rig.Programs(sys.argv[1])

    def test(folder):
        target = rig.Target(programs, folder).start()
        code, said = target.gnstorctl("volume", "create", "disk", "--size", "8M", "--owner",
                                      "gnstor-nbd")
        rig.check(code == 0, "gnstorctl volume create", said)
        words = [*printed_words(target, "disk"), "host-name=gnstor-nbd"]
        export = Export(programs, folder, "first", words)
        changed(programs, folder, target)
        held = failing_ssds(target, export)
        started_again(target, export, held)
        away(programs, folder, target, held)
        second, h = two_hosts(programs, folder, target, export, held)
        revoked(target, second, h)
        h.shutdown()  # nbdkit ends when its clients have gone
        rig.check(second.end() == 0, "nbdkit ends in order", second.said())
        rig.check(target.end() == 0, "gnstor-target ends in order")

    return rig.run(test)


if __name__ == "__main__":
    sys.exit(main())
