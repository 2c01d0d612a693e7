#!/usr/bin/env python3
"""Two hosts at an array that gnstor-target serves; SSDs fail under one of them. The target manages
it, or a gnstord elsewhere.

Usage: managed.py BUILD_FOLDER [--elsewhere | --tls]
"""

import json
import re
import sys

import rig


def patient(target):
    """Its endpoint, for a machine that may be busy for seconds."""
    return target.endpoint + ("&" if "?" in target.endpoint else "?") + "keep_alive_ms=10000"


def share(programs, target, folder):
    two = rig.Client(programs, folder, "interop_managed", "share", "--endpoint", patient(target))
    rig.check(two.wait() == 0, "two hosts share a volume:", two.said())


def encrypted(programs, target, folder):
    """Hosts share a volume over TLS; one without a certificate hears why it cannot."""
    share(programs, target, folder)
    code, said = target.gnstorctl("volume", "list")
    rig.check(code == 0, "gnstorctl over TLS:", said)
    bare = rig.Client(programs, folder, "interop_managed", "share", "--endpoint",
                      target.plain_endpoint)
    rig.check(bare.wait() != 0 and "wants TLS" in bare.said(), "a host without TLS:", bare.said())


def alone(programs, target):
    """A second daemon without etcd is refused in words, and the first one stays in charge."""
    second = rig.Daemon(programs, target, len(target.daemons))
    second.process = programs.start(second.program, *second.arguments, output=second.output)
    rig.check(rig.eventually(lambda: second.process.poll() is not None, 30), "a second daemon runs")
    rig.check(second.process.poll() == 1 and "another manager is in charge" in second.said(),
              "a second daemon:", second.process.poll(), second.said())
    rig.check(target.healthy(), "the first one:", *target.gnstorctl("array", "health"))


def steady(programs, target, folder):
    """SSDs are detached and come back while a session writes and reads, and a kernel of another
    one: neither sees an error."""
    enough = folder / "enough"
    alice, carol = (rig.Client(programs, folder, "interop_managed", what, "--endpoint",
                               patient(target), "--until", enough) for what in ("steady", "kernel"))
    for volume in ("steady", "counters"):
        made = rig.eventually(lambda name=volume: target.gnstorctl("volume", "show", name)[0] == 0)
        rig.check(made, "nobody makes volume", volume, alice.said(), carol.said())
    for ssd in ("1", "2"):
        for verb in ("detach", "replace"):
            code, said = target.gnstorctl("ssd", verb, ssd)
            rig.check(code == 0, "gnstorctl ssd", verb, ssd, said)
        rig.check(rig.eventually(target.healthy), "the array is not in sync again",
                  *target.gnstorctl("array", "health"))
    traffic(target)
    enough.touch()
    for who in (alice, carol):
        rig.check(who.wait() == 0, "a host that writes while SSDs fail:", who.said())
        print("\n".join(who.said().splitlines()[:-1]))


def scraped(target, counts):
    """Prometheus is given what gnstorctl says."""
    address = re.search(r"^metrics http://127.0.0.1:(\d+)/", target.said(), re.MULTILINE)
    if address is None:
        print("metrics are not looked at: there is no prometheus-cpp, or the manager is elsewhere")
        return
    def samples():
        text = rig.http_get(int(address[1]), "/metrics")
        return {name: float(value) for name, _, value in
                (line.rpartition(" ") for line in text.splitlines() if line.startswith("gnstor_"))}
    before, found, after = counts()[1]["steady"], samples(), counts()[1]["steady"]
    of = f'{{volume="{before["volume"]}"'
    for what in ("reads", "writes", "read_bytes", "written_bytes", "errors"):
        least, most = (int(said.get(what, 0)) for said in (before, after))
        got = found.get(f"gnstor_volume_{what}_total{of}}}", -1)
        rig.check(least <= got <= most, "metrics of", what, least, got, most)
    served = found.get(f"gnstor_volume_latency_seconds_count{of}}}", -1)
    rig.check(served >= int(before.get("writes", 0)) > 0, "latencies:", served, before)
    buckets = [value for name, value in found.items()
               if name.startswith(f"gnstor_volume_latency_seconds_bucket{of}")]
    rig.check(buckets == sorted(buckets) and buckets[-1] == served, "a histogram:", buckets)


def traffic(target):
    """What the manager says that the hosts are doing."""
    def counts():
        code, said = target.gnstorctl("--format", "json", "volume", "traffic")
        rig.check(code == 0, "gnstorctl volume traffic", said)
        return said, {v["name"]: v for v in json.loads(said)["volumes"]}
    # A kernel's array is written when it is flushed: at its end.
    for volume, kinds in {"steady": ("writes", "read_bytes"), "counters": ("read_bytes",)}.items():
        counted = rig.eventually(lambda of=volume, kinds=kinds: all(
            int(counts()[1].get(of, {}).get(what, 0)) > 0 for what in kinds))
        said, by_name = counts()
        rig.check(counted, "nothing was counted of", volume, said)
        counted = by_name.get(volume, {})
        rig.check(sum(map(int, counted.get("latencies", []))) >= int(counted.get("writes", 0)),
                  "latencies of", volume, said)
    def writes_per_second():
        code, said = target.gnstorctl("--watch", "0.5", "--times", "2", "volume", "traffic")
        rounds = said.split("ID ")[1:]
        rig.check(code == 0 and len(rounds) == 2 and "/s" not in rounds[0], "--watch:", said)
        row = next((line.split() for line in rounds[-1].splitlines() if " steady " in line), [])
        return len(row) > 3 and row[3].endswith("/s") and 0 < int(row[3][:-2]) < 1_000_000
    rig.check(rig.eventually(writes_per_second, 20), "writes per second")
    def room_known():
        code, said = target.gnstorctl("--format", "json", "volume", "show", "steady")
        return code == 0 and int(json.loads(said).get("used_bytes", 0)) > 0
    rig.check(rig.eventually(room_known, 30), "how much of a volume holds data:",
              target.gnstorctl("volume", "list")[1])
    def flash_known():
        code, said = target.gnstorctl("--format", "json", "array", "show")
        return code == 0 and all(int(ssd.get("flash", {}).get("used_bytes", 0)) > 0
                                 for ssd in json.loads(said)["ssds"])
    rig.check(rig.eventually(flash_known, 20), "how the SSDs' flash is used:",
              target.gnstorctl("ssd", "list")[1])
    scraped(target, counts)
    code, said = target.gnstorctl("host", "list")
    rig.check(code == 0 and said.count("connected") >= 3, "the hosts are listed:", said)


def main():
    programs = rig.Programs(sys.argv[1])
    tls = "--tls" in sys.argv
    kind = (rig.TlsTarget if tls else
            rig.ManagedElsewhere if "--elsewhere" in sys.argv else rig.Target)

    def test(folder):
        more = {"more": rig.METRICS} if kind is rig.Target and programs.has_metrics() else {}
        target = kind(programs, folder, **more).start()
        if tls:
            encrypted(programs, target, folder)
        else:
            share(programs, target, folder)
            if kind is rig.ManagedElsewhere:
                alone(programs, target)
            steady(programs, target, folder)
        rig.check(target.end() == 0, "gnstor-target ends in order")

    return rig.run(test)


if __name__ == "__main__":
    sys.exit(main())
