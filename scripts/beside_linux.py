#!/usr/bin/env python3
"""Joins what benchmark/beside_linux.sh measured into a file as Google Benchmark writes them.

A folder has ROUND.WHO.BLOCK.DEPTH.json, of fio and of gnstor-perf, which writes the same names.
Each entry of the result has the medians of the rounds, and of their ratios to fio's in the same
round.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics


def read_rounds(folder):
    """{(block, depth): {who: {round: (reads per second, mean us)}}}"""
    rounds = {}
    for path in sorted(folder.glob("*.*.*.*.json")):
        number, who, block, depth, _ = path.name.split(".")
        job = json.loads(path.read_text())["jobs"][0]
        if job.get("error"):
            raise SystemExit(f"{path.name}: fio ended with error {job['error']}")
        read = job["read"]
        if not read["total_ios"]:
            raise SystemExit(f"{path.name}: nothing was read")
        shape = rounds.setdefault((block, int(depth)), {})
        shape.setdefault(who, {})[int(number)] = (read["iops"], read["lat_ns"]["mean"] / 1e3)
    return rounds


def entry(name, of):
    """One line of the result: `of` has who's rounds."""
    common = sorted(set.intersection(*(set(one) for one in of.values())))
    if not common or set(of) != {"fio", "queue", "disk"}:
        raise SystemExit(f"{name}: rounds are missing")
    said = {"name": name, "run_name": name, "run_type": "iteration",
            "iterations": len(common), "time_unit": "us", "rounds": len(common)}
    for who, one in of.items():
        said[f"{who}_per_s"] = statistics.median(one[k][0] for k in common)
        said[f"{who}_us"] = statistics.median(one[k][1] for k in common)
    for who in ("queue", "disk"):
        ratios = [of[who][k][0] / of["fio"][k][0] for k in common]
        said[f"{who}_times_fio"] = statistics.median(ratios)
        said[f"{who}_times_fio_least"] = min(ratios)
        said[f"{who}_times_fio_most"] = max(ratios)
    said["real_time"] = said["queue_us"]
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="folder",
                        help="of one way to the controller, which gives it its name")
    parser.add_argument("--context", action="append", default=[], metavar="KEY=VALUE")
    args = parser.parse_args()
    now = datetime.datetime.now(datetime.timezone.utc)
    context = {"date": now.isoformat(timespec="seconds"), "num_cpus": os.cpu_count(),
               "load_avg": os.getloadavg()}
    context.update(word.split("=", 1) for word in args.context)
    entries = []
    for folder in args.folders:
        shapes = sorted(read_rounds(folder).items(), key=lambda s: (len(s[0][0]), s[0]))
        entries += [entry(f"beside_linux/{folder.name}/{block}/depth:{depth}", of)
                    for (block, depth), of in shapes]
    if not entries:
        raise SystemExit("nothing was measured")
    args.result.write_text(json.dumps({"context": context, "benchmarks": entries}, indent=1) + "\n")
    for e in entries:
        print(f"{e['name']}: queue {e['queue_per_s']:.0f}/s, {e['queue_times_fio']:.2f} times "
              f"fio's ({e['queue_times_fio_least']:.2f} to {e['queue_times_fio_most']:.2f}); "
              f"disk: {e['disk_times_fio']:.2f}")


if __name__ == "__main__":
    main()
