"""gnstor-perf, small: what it prints, its JSON, and what it refuses."""

import json
import os
import subprocess
import sys
import time
import urllib.request

PROGRAM = sys.argv[1]
QUICK = os.environ.get("GNSTOR_QUICK") == "1"  # an ordinary scripts/test: each run takes a second


def call(*words, code=0):
    done = subprocess.run([PROGRAM, *words, "--quiet"], capture_output=True, text=True, timeout=100)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def check_verify():
    for endpoint in ("emu-nvme:?bytes=8M", "emu-nvme:?bytes=2M&lba=512&runner=sim&lanes=4",
                     "emu:?capacity=32M"):
        for size in ("4K",) if QUICK else ("4K", "64K"):
            said = call("verify", "--endpoint", endpoint, "--bs", size, "--loops", "2", "--numjobs",
                        "2", "--iodepth", "8")
            assert "compared 2 times" in said, said
    call("verify", "--endpoint", "emu-nvme:?bytes=1M&lba=512", "--bs", "512")
    call("verify", "--endpoint", "emu-nvme:?bytes=4M", "--initiator", "cpu", "--iodepth", "2")


def check_run():
    kinds = (("randrw", 70), ("write", 0), ("randread", 100), ("read", 100))
    for rw, reads in kinds[:2 if QUICK else None]:
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
            assert latency == job[way]["clat_ns"], job[way]
            points = [latency["percentile"][p] for p in ("50.000000", "99.000000")]
            assert 0 < latency["min"] <= points[0] <= points[1] <= latency["max"], latency
            assert abs(job[way]["iops"] * job[way]["runtime"] / 1000 / ios - 1) < 0.2, job
            assert job[way]["io_bytes"] == ios * 4096
    assert "what was read is what was written before" in call(
        "run", "--endpoint", "emu-nvme:?bytes=8M", "--runtime", "1", "--random_distribution",
        "zipf:0.9", "--numjobs", "1", "--iodepth", "4")


def check_packets():
    for what in ("forward", "exchange") if QUICK else ("forward", "receive", "send", "exchange"):
        result = json.loads(call("packets", "--do", what, "--runtime", "1", "--output-json", "-"))
        assert result["checked"] and not result["wrong"], result
        rates, counts = result["rates"], result["counts"]
        assert (rates["received"]["frames"] > 1000) == (what != "send"), result
        assert (rates["sent"]["frames"] > 1000) == (what != "receive"), result
        for way in rates.values():
            wire = (way["bytes"] + 24 * way["frames"]) * 8 / 1e9 / result["seconds"]
            assert way["bytes"] == 60 * way["frames"], way
            assert abs(way["wire_gbits_per_second"] - wire) <= wire / 100, (way, result["seconds"])
        if what == "forward":
            points = result["transit_ns"]["percentile"]
            assert result["transit_ns"]["N"] == rates["sent"]["frames"], result
            assert 0 < points["50.000000"] <= points["99.000000"], result
        if what in ("send", "exchange"):
            assert counts["made"] == counts["sent"], result
        if what in ("receive", "exchange"):
            assert result["numbered"]["sound"] == counts["received"], result
            assert result["numbered"]["missing"] == 0, result
    for what in ("receive", "send") if QUICK else ("forward", "receive", "send", "exchange"):
        result = json.loads(call("packets", "--do", what, "--runtime", "1", "--queues", "3",
                                 "--depth", "8", "--output-json", "-"))
        assert result["checked"] and not result["wrong"], result
        # What comes for a ring that has stopped before the others is missed, and counted.
        missed = sum(pair["missed"] for port in result["rings"] for pair in port)
        assert result["numbered"]["missing"] <= missed, result
        assert result["numbered"]["reordered"] == 0, result
        for way, is_used in (("received", what != "send"), ("sent", what != "receive")):
            frames = [pair[way] for port in result["rings"] for pair in port]
            assert len(frames) == (3 if what == "exchange" else 6), result
            assert all((n > 0) == is_used for n in frames), result
            assert sum(frames) == result["rates"][way]["frames"], result
    result = json.loads(call("packets", "--do", "exchange", "--runtime", "1", "--size", "9014",
                             "--output-json", "-"))
    assert result["checked"] and not result["wrong"], result
    assert result["rates"]["received"]["bytes"] == 9014 * result["counts"]["made"] > 0, result
    text = call("packets", "--endpoint",
                "emu-nic:?frames=3000&loss=50&damage=50&duplicate=50&checksum=50", "--runtime",
                "60")
    assert "each frame was compared: right" in text, text
    assert "bad_check_sequence" in text and "bad_checksum" in text, text
    text = call("packets", "--do", "exchange", "--endpoint", "emu-nic:?ports=1", "--runtime", "1",
                code=1)
    assert "WRONG: 0 of" in text and "loopback=" in text, text


def check_metrics():
    """What Prometheus hears while kernels run is what the result says later, or less."""
    with subprocess.Popen([PROGRAM, "packets", "--runtime", "3", "--quiet", "--queues", "2",
                           "--metrics", "127.0.0.1:0", "--output-json", "-"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        first = process.stderr.readline()
        if "no prometheus-cpp" in first:
            print("no prometheus-cpp here: metrics are not looked at")
            return
        url = first.split()[1]
        found = {}
        while float(found.get('gnstor_packet_frames_total{cause="sent"}', 0)) == 0 \
                and process.poll() is None:
            time.sleep(0.1)
            with urllib.request.urlopen(url, timeout=5) as answer:
                lines = answer.read().decode().splitlines()
            found = dict(line.rsplit(" ", 1) for line in lines if line.startswith("gnstor_"))
        result = json.loads(process.communicate()[0])
    for cause in ("received", "sent"):
        heard = float(found[f'gnstor_packet_frames_total{{cause="{cause}"}}'])
        assert 0 < heard <= result["counts"][cause], (heard, result)
    assert float(found['gnstor_nic_frames_total{port="1",count="sent"}']) > 0, found
    assert float(found['gnstor_nic_ring_frames_total{port="0",queue="1",count="delivered"}']) > 0
    assert "HOST:PORT" in call("packets", "--metrics", "nowhere", code=2)


def check_refusals():
    for words, remedy in (
            (("run", "--bs", "5000"), "a multiple of 4K"),
            (("run", "--bs", "512"), "emu-nvme:?lba=512"),
            (("run", "--size", "x"), "expected a size"),
            (("run", "--random_distribution", "zipf:2"), "THETA between 0 and 1"),
            (("run", "--rw", "read", "--random_distribution", "zipf:0.5"), "means nothing"),
            (("run", "--size", "8K"), "too few"),
            (("verify", "--volume", "1"), "--overwrite"),
            (("run", "--endpoint", "emu-nvm:"), "these exist"),
            (("packets", "--endpoint", "emu:"), "an Ethernet controller"),
            (("packets", "--do", "send", "--to", "52:54"), "a hardware address such as"),
            (("packets", "--queues", "4", "--endpoint", "tap:none"), "of emu-nic: and pcap:"),
            (("packets", "--queues", "4", "--endpoint", "emu-nic:?queues=2"),
             "the endpoint says 2: leave one of them out"),
            (("packets", "--depth", "100"), "turn must be a power of two")):
        said = call(*words, code=2)
        assert remedy in said, (words, said)


check_verify()
check_run()
check_packets()
check_metrics()
check_refusals()
print("gnstor-perf: all right")
