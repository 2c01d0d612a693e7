#!/usr/bin/env python3
"""Searches one random graph from each file format that the bfs example reads.

Every run must verify its tree and reach as many vertices as a search here does; so must searches on
chunks of edges, and the other programs must verify their results.
Usage: graph_formats.py BFS OTHER...
"""

import random
import struct
import sys

from running import Folder, figure

VERTICES = 20000  # more pages than the fewest frames of an array
EDGES = 60000
SEED = 7


def lists_of(edges):
    lists = [set() for _ in range(VERTICES)]
    for u, v in edges:
        if u != v:
            lists[u].add(v)
    return [sorted(each) for each in lists]


def reached_from(source, lists):
    seen, queue = {source}, [source]
    for u in queue:
        for v in lists[u]:
            if v not in seen:
                seen.add(v)
                queue.append(v)
    return len(seen)


def one_way(lists, weighted):
    offsets = [0]
    for each in lists:
        offsets.append(offsets[-1] + len(each))
    entries = [number for each in lists for v in each for number in ((v, 5) if weighted else (v,))]
    return struct.pack(f"<{len(offsets)}q", *offsets) + struct.pack(f"<{len(entries)}i", *entries)


def serialized(edges, directed, weighted):
    out = lists_of(edges)
    header = struct.pack("<?qq", directed, sum(map(len, out)), VERTICES)
    incoming = one_way(lists_of((v, u) for u, v in edges), weighted) if directed else b""
    return header + one_way(out, weighted) + incoming


def matrix(edges, symmetry, field):
    value = {"pattern": "", "real": " 0.25"}[field]
    lines = [f"%%MatrixMarket matrix coordinate {field} {symmetry}", "% a comment",
             f"{VERTICES} {VERTICES} {len(edges)}"]
    return "\n".join(lines + [f"{u + 1} {v + 1}{value}" for u, v in edges]) + "\n"


def main():
    bfs, *others = sys.argv[1:]
    draw = random.Random(SEED)
    edges = [(draw.randrange(VERTICES), draw.randrange(VERTICES)) for _ in range(EDGES)]
    edges.append((0, VERTICES - 1))  # an edge list has as many vertices as its largest id says
    both = edges + [(v, u) for u, v in edges]
    source = edges[0][0]
    text = "".join(f"{u} {v}\n" for u, v in edges)
    weighted_text = "".join(f"{u} {v} 3\n" for u, v in edges)
    files = [
        ("list.el", text, edges),
        ("list.wel", weighted_text, edges),
        ("general.mtx", matrix(edges, "general", "real"), edges),
        ("symmetric.mtx", matrix(edges, "symmetric", "pattern"), both),
        ("edgeless.mtx", matrix([], "general", "pattern"), []),
        ("edgeless.sg", serialized([], False, False), []),
        ("directed.sg", serialized(edges, True, False), edges),
        ("undirected.sg", serialized(both, False, False), both),
        ("directed.wsg", serialized(edges, True, True), edges),
        ("undirected.wsg", serialized(both, False, True), both),
    ]
    failures = 0
    with Folder() as folder:
        for name, content, meant in files:
            folder.write(name, content)
            for layout in ("csr", "balanced"):
                status, printed = folder.run(bfs, "--graph", name, "--source", str(source),
                                             "--layout", layout)
                right = {"vertices": str(VERTICES), "verified": "yes",
                         "reached": str(reached_from(source, lists_of(meant)))}
                wrong = [f"{key} is {figure(printed, key)}, right is {value}"
                         for key, value in right.items() if figure(printed, key) != value]
                if status != 0 or wrong:
                    failures += 1
                    print(f"{name}, {layout}: exit status {status} {'; '.join(wrong)}\n{printed}")
        for program in others:
            for name in ("edgeless.sg", "directed.sg", "undirected.wsg"):
                for layout in ("csr", "balanced"):
                    status, printed = folder.run(program, "--graph", name, "--layout", layout)
                    if status != 0 or figure(printed, "verified") != "yes":
                        failures += 1
                        print(f"{program} {name}, {layout}: exit status {status}\n{printed}")
        for name in ("edgeless.mtx", "general.mtx"):
            status, printed = folder.run(bfs, "--graph", name, "--trials", "2")
            if status != 0 or figure(printed, "verified") != "yes":
                failures += 1
                print(f"{name} from any source: exit status {status}\n{printed}")
    print(f"{len(files)} files of seed {SEED}, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
