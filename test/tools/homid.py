#!/usr/bin/env python3
"""gnstor-homid under processes that are killed: those beside them go on, and all queues come back.

    homid.py GNSTOR_HOMID GNSTOR_PERF [--kills N]
"""

import argparse
import os
import random
import signal
import subprocess
import tempfile
import time
import urllib.request

SEED = int(os.environ.get("GNSTOR_SEED", random.randrange(1 << 30)))


def metrics_of(address):
    """The values at `address`, by their names and labels as they stand there."""
    with urllib.request.urlopen(address, timeout=20) as answer:
        lines = answer.read().decode().splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


def check_metrics(address, kills):
    """All queues are back, the controller is well, and who came is counted."""
    deadline = time.monotonic() + 20
    while True:  # what a process that has just ended had is counted a moment later
        said = metrics_of(address)
        if said['gnstor_homi_queues{state="lent"}'] == "0" or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    assert said['gnstor_homi_queues{state="lent"}'] == "0", said
    assert said['gnstor_homi_queues{state="idle"}'] == "24", said
    assert said['gnstor_homi_queues{state="lost"}'] == "0", said
    assert float(said["gnstor_homi_processes_total"]) >= kills + 5, said
    health = {name.split("{")[0]: float(value) for name, value in said.items()}
    assert health["gnstor_nvme_answers"] == 1, said
    assert 0 < health["gnstor_nvme_temperature_celsius"] < 100, said
    assert health["gnstor_nvme_writes_total"] >= 0, said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("homid")
    parser.add_argument("perf")
    parser.add_argument("--kills", type=int, default=25)
    chosen = parser.parse_args()
    print("GNSTOR_SEED =", SEED)
    draw = random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        socket = folder + "/homi"
        built = subprocess.run([chosen.homid, "--controller", "emu-nvme:", "--name", socket,
                                "--metrics", "nonsense"], capture_output=True, text=True,
                               timeout=20, check=False).stderr
        metrics_option = [] if "prometheus-cpp" in built else ["--metrics", "127.0.0.1:0"]
        daemon = subprocess.Popen(
            [chosen.homid, "--controller", "emu-nvme:?bytes=32M&namespaces=8&queues=24", "--name",
             socket, "--queues", "5", *metrics_option], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        try:
            line = daemon.stdout.readline()
            address = line.split()[1] if line.startswith("metrics ") else None
            line = daemon.stdout.readline() if address else line
            assert line.startswith("ready: homi:"), "no ready line"

            def client(nsid, *words):
                return subprocess.Popen(
                    [chosen.perf, *words, "--endpoint", f"homi:{socket}?scratch=yes&nsid={nsid}",
                     "--bs", "4K", "--iodepth", "16", "--numjobs", "4", "--quiet"],
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

            def verified(process):
                out, _ = process.communicate(timeout=60)
                assert process.returncode == 0 and "verified" in out, out

            neighbour = client(1, "verify", "--size", "8M")
            for kill in range(chosen.kills):
                victim = client(2 + kill % 7, "run", "--rw", "randrw", "--size", "8M", "--runtime",
                                "30")
                time.sleep(draw.uniform(0.02, 0.4))
                victim.kill()
                victim.communicate()
                if neighbour.poll() is not None:
                    verified(neighbour)
                    neighbour = client(1, "verify", "--size", "8M")
            verified(neighbour)
            assert daemon.poll() is None, "gnstor-homid has ended"
            # Five for each: all of them are there again.
            last = [client(2 + k, "verify", "--size", "4M") for k in range(4)]
            for process in last:
                verified(process)
            if address:
                check_metrics(address, chosen.kills)
            daemon.send_signal(signal.SIGTERM)
            assert daemon.wait(timeout=20) == 0, daemon.returncode
            assert not os.path.exists(socket), "the socket is left"
        finally:
            daemon.kill()
        refused = subprocess.run([chosen.homid, "--controller", "emu:", "--name", socket],
                                 capture_output=True, text=True, timeout=20, check=False)
        assert refused.returncode == 1 and "a local controller" in refused.stderr, refused.stderr
    print(f"{chosen.kills} killed, all bytes right beside them")


if __name__ == "__main__":
    main()
