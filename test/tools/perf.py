"""gnstor-perf, small: what it prints, its JSON, and what it refuses."""

import json
import subprocess
import sys

PROGRAM = sys.argv[1]


def call(*words, code=0):
    done = subprocess.run([PROGRAM, *words, "--quiet"], capture_output=True, text=True, timeout=100)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def check_verify():
    for endpoint in ("emu-nvme:?bytes=8M", "emu-nvme:?bytes=2M&lba=512&runner=sim&lanes=4",
                     "emu:?capacity=32M"):
        for size in ("4K", "64K"):
            said = call("verify", "--endpoint", endpoint, "--bs", size, "--loops", "2", "--numjobs",
                        "2", "--iodepth", "8")
            assert "compared 2 times" in said, said
    call("verify", "--endpoint", "emu-nvme:?bytes=1M&lba=512", "--bs", "512")
    call("verify", "--endpoint", "emu-nvme:?bytes=4M", "--initiator", "cpu", "--iodepth", "2")


def check_run():
    for rw, reads in (("randread", 100), ("write", 0), ("randrw", 70), ("read", 100)):
        said = call("run", "--endpoint", "emu-nvme:?bytes=8M", "--rw", rw, "--runtime", "1",
                    "--iodepth", "4", "--numjobs", "2", "--rwmixread", "70", "--output-json", "-")
        result = json.loads(said)
        job = result["jobs"][0]
        assert job["error"] == 0 and result["wrong blocks"] == 0, said
        done = [job[way]["total_ios"] for way in ("read", "write")]
        share = 100 * done[0] / sum(done)
        assert abs(share - reads) < 10, (rw, share)
        for way, ios in zip(("read", "write"), done):
            if ios == 0:
                continue
            latency = job[way]["lat_ns"]
            points = [latency["percentile"][p] for p in ("50.000000", "99.000000")]
            assert 0 < latency["min"] <= points[0] <= points[1] <= latency["max"], latency
            assert abs(job[way]["iops"] * job[way]["runtime"] / 1000 / ios - 1) < 0.2, job
            assert job[way]["io_bytes"] == ios * 4096
    assert "what was read is what was written before" in call(
        "run", "--endpoint", "emu-nvme:?bytes=8M", "--runtime", "1", "--random_distribution",
        "zipf:0.9", "--numjobs", "1", "--iodepth", "4")


def check_refusals():
    for words, remedy in (
            (("run", "--bs", "5000"), "a multiple of 4K"),
            (("run", "--bs", "512"), "emu-nvme:?lba=512"),
            (("run", "--size", "x"), "expected a size"),
            (("run", "--random_distribution", "zipf:2"), "THETA between 0 and 1"),
            (("run", "--rw", "read", "--random_distribution", "zipf:0.5"), "means nothing"),
            (("run", "--size", "8K"), "too few"),
            (("verify", "--volume", "1"), "--overwrite"),
            (("run", "--endpoint", "emu-nvm:"), "these exist")):
        said = call(*words, code=2)
        assert remedy in said, (words, said)


check_verify()
check_run()
check_refusals()
print("gnstor-perf: all right")
