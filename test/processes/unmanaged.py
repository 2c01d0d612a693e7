#!/usr/bin/env python3
"""Programs at rdma:// and memory:// endpoints of other processes, as in the lab's guests.

Usage: unmanaged.py BUILD_FOLDER
"""

import signal
import struct
import sys

import rig

ARRAY = "nqn.2026-11.io.gnstor:array"
VOLUME = "nqn.2026-11.io.gnstor:volume.1"
ALICE = "nqn.2026-11.io.gnstor:host:alice"


def start(programs, folder, name, *words):
    """A server, when it is ready."""
    server = rig.Client(programs, folder, name, *words)
    rig.check(server.until("ready"), name, "does not start:", server.said())
    return server


def says(programs, folder, code, words, name, *arguments):
    one = rig.Client(programs, folder, name, *arguments)
    got = one.wait()
    rig.check(got == code and words in one.said(), name, *arguments, "ended with", got, one.said())


def array(programs, folder):
    """Rights go from host to host."""
    port = rig.free_port()
    target = start(programs, folder, "gnstor-target", "--listen", f"127.0.0.1:{port}", "--array",
                   "emu:?ssds=4&capacity=128M", "--volume", "16M", "--reassign", f"1={ALICE}")
    for verb in ("own", "release"):
        says(programs, folder, 0, "", "interop_handover", verb, "--address", "127.0.0.1", "--port",
             port, "--image", folder / "image")
    says(programs, folder, 0, "ok: ", "interop_rights", "--endpoint",
         f"rdma://127.0.0.1:{port}/{ARRAY}")
    rig.check(target.end() == 0, "gnstor-target ends in order:", target.said())


def volume(programs, folder):
    """A plain volume whose SSDs take their time: every byte, whether long reads leave part by part
    or not."""
    for send in ("synchronised", "stored"):
        port = rig.free_port()
        target = start(programs, folder, "gnstor-target", "--listen", f"127.0.0.1:{port}",
                       "--array", "emu:?ssds=4&capacity=64M&timing=table2", "--volume", "16M",
                       "--max-transfer", "1M", "--send", send)
        says(programs, folder, 0, "all bytes right", "interop_client", "traffic", "--address",
             "127.0.0.1", "--port", port, "--nqn", VOLUME, "--host-nqn", ALICE, "--mib", 16,
             "--queues", 2, "--rounds", 3)
        rig.check(target.end() == 0, "gnstor-target ends in order:", target.said())


def memory(programs, folder):
    """Kernels page another process's memory; it is killed, and each of their lanes ends."""
    (folder / "region").write_bytes(struct.pack("<262144I", *range(262144)))
    port = rig.free_port()
    server = start(programs, folder, "gnstor-memory", "--listen", f"127.0.0.1:{port}", "--region",
                   f"numbers=file:{folder / 'region'}")
    endpoint = f"memory://127.0.0.1:{port}/numbers"
    says(programs, folder, 0, ": 0 wrong", "interop_memory", "page", "--endpoint", endpoint)
    lanes = rig.Client(programs, folder, "interop_memory", "endure", "--endpoint", endpoint)
    rig.check(lanes.until("reading"), "kernels read:", lanes.said())
    server.end(signal.SIGKILL)
    rig.check(lanes.wait() == 2 and "64 lanes ended, 64 of them by a failed read" in lanes.said(),
              "lanes whose server was killed:", lanes.said())


def main():
    programs = rig.Programs(sys.argv[1])

    def test(folder):
        array(programs, folder)
        volume(programs, folder)
        memory(programs, folder)

    return rig.run(test)


if __name__ == "__main__":
    sys.exit(main())
