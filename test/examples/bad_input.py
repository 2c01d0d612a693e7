#!/usr/bin/env python3
"""Gives the examples bad input: each must fail, say what is wrong, and leave every file as it was.

Usage: bad_input.py BFS VECTOR_ADD READ_ONE TAXI_QUERY
"""

import struct
import sys

from running import Folder

# What programs say that have begun their work.
NOTHING_DONE = ["graph:", "192.0.2.1", "connect"]

# name, arguments, what has to be said, and what must not be
BFS = [
    ("a missing graph file",
     "--graph missing.sg",
     ["missing.sg: cannot open: No such file", "check the path"]),
    ("a graph file of an unknown kind",
     "--graph graph.txt",
     ['unknown extension ".txt"', ".sg and .wsg", ".mtx"]),
    ("a truncated graph file",
     "--graph short.sg",
     ["short.sg: holds 60 bytes", "truncated"]),
    ("a graph file with less than a header",
     "--graph tiny.sg",
     ["tiny.sg: holds 5 bytes", "truncated"]),
    ("an empty graph file",
     "--graph empty.el",
     ["empty.el: is empty"]),
    ("a matrix with fewer entries than its size line says",
     "--graph few.mtx",
     ["few.mtx: the size line says 3 entries, the file holds 2"]),
    ("a matrix with more entries than its size line says",
     "--graph many.mtx",
     ["many.mtx:5: an entry more than the 2 of the size line"]),
    ("a matrix entry beyond its rows",
     "--graph beyond.mtx",
     ["beyond.mtx:4: column 5 is out of range", "ids go from 1 to 4"]),
    ("a vertex id that does not fit",
     "--graph large.el",
     ["large.el:2: vertex id 2147483648 is out of range"]),
    ("a neighbour that is no vertex",
     "--graph neighbour.sg",
     ["neighbour.sg: byte 45: vertex id 9 is out of range"]),
    ("a source that is no vertex",
     "--graph good.el --source 4",
     ["source vertex 4 is not in a graph of 4 vertices", "--source 0 to 3"]),
    ("a frame budget below the minimum",
     "--scale 12 --frames 64K",
     ["--frames 64K is too small for 2 arrays", "give at least --frames "]),
    ("a frame budget that is no number",
     "--scale 10 --frames lots",
     ["frames 'lots': give a share of the data as 25%, or bytes as 64M"]),
    ("a page size that is no power of two",
     "--scale 10 --page-bytes 5000",
     ["--page-bytes 5000", "4096 times a power of two"]),
    ("an array too small for the volumes",
     "--scale 15 --endpoint emu:?capacity=1M",
     ["bytes of flash; the array has", "larger capacity="]),
    ("an unknown endpoint",
     "--scale 10 --endpoint tape:0",
     ["endpoint 'tape:0': unknown scheme; these exist: emu:"]),
    ("an unknown endpoint option",
     "--scale 10 --endpoint emu:?colour=red",
     ["endpoint option 'colour' is unknown; these exist: ssds,"]),
    ("frames that are no number, before RDMA is asked for anything",
     "--scale 10 --endpoint rdma://192.0.2.1/nqn --frames lots",
     ["frames 'lots'"], NOTHING_DONE),
    ("too few frames, before RDMA is asked for anything",
     "--scale 10 --endpoint rdma://192.0.2.1/nqn --frames 1K",
     ["--frames 1K is too small"], ["192.0.2.1", "connect"]),
    ("a page size that cannot be, before RDMA is asked for anything",
     "--scale 10 --endpoint rdma://192.0.2.1/nqn --page-bytes 6000",
     ["--page-bytes 6000"], NOTHING_DONE),
    ("an endpoint that cannot be, before a graph is made",
     "--scale 10 --endpoint emu:?ssds=4&ssds=5",
     ["'ssds' is given twice"], NOTHING_DONE),
    ("a block that is no whole number of warps",
     "--scale 10 --block 33",
     ["33 is no multiple of 32"]),
    ("a scale that no machine holds",
     "--scale 40",
     ["Kronecker scale 40 is outside 1 to 31"]),
    ("a file and a generated graph at once",
     "--scale 10 --graph good.el",
     ["--scale excludes --graph"]),
    ("chunks that are too small",
     "--scale 10 --layout balanced --chunk-edges 10",
     ["chunks of 10 edges; give at least 64"], ["search 1"]),
    ("an unknown layout",
     "--scale 10 --layout sorted",
     ["sorted not in {csr,balanced}"], NOTHING_DONE),
    ("pages of 512 bytes on volumes",
     "--scale 10 --page-bytes 512",
     ["--page-bytes 512", "4096 times a power of two"], NOTHING_DONE),
    ("pages of 256 bytes on host memory",
     "--scale 10 --page-bytes 256 --endpoint host:",
     ["--page-bytes 256", "512 times a power of two"], NOTHING_DONE),
]

TAXI_QUERY = [
    ("a missing table",
     "--csv missing.csv",
     ["missing.csv: cannot be read"]),
    ("a table without a column that is needed",
     "--csv columns.csv",
     ['columns.csv: the first line names no column "Tolls"']),
    ("a table without trips",
     "--csv none.csv",
     ["none.csv: holds no trip"]),
    ("a field that is no number",
     "--csv word.csv",
     ['word.csv:3: column "Fare" is no number from 0 on']),
    ("a line that ends early",
     "--csv early.csv",
     ['early.csv:2: column "Tips" is no number from 0 on']),
    ("a table and drawn trips at once",
     "--csv word.csv --rows 5",
     ["--rows excludes --csv"]),
    ("a query that is none",
     "--query 6",
     ["6 not in range"]),
]

VECTOR_ADD = [
    ("a missing input",
     "missing.bin eight.bin out.bin",
     ["missing.bin: cannot open: No such file", "check the path"]),
    ("an empty input",
     "empty.bin empty.bin out.bin",
     ["empty.bin: is empty; give at least one double"]),
    ("a size that is no whole number of elements",
     "odd.bin odd.bin out.bin",
     ["odd.bin: 12 bytes are no whole number of 8-byte elements; check --type"]),
    ("inputs of different lengths",
     "eight.bin sixteen.bin out.bin",
     ["eight.bin holds 8 elements, sixteen.bin 16: give files of equal length"]),
    ("an input that is a folder",
     "folder eight.bin out.bin",
     ["folder: is not a regular file"]),
    ("an output in a folder that is not there",
     "eight.bin eight.bin nowhere/out.bin",
     ["nowhere/out.bin: cannot be written: No such file"]),
    ("an output that is a folder",
     "eight.bin eight.bin folder",
     ["folder: is there and is not a regular file"]),
    ("an unknown type",
     "eight.bin eight.bin out.bin --type complex",
     ["complex not in {double,float}"]),
    ("a volume that does not fit, found after the output was opened",
     "large.bin large.bin out.bin --endpoint emu:?capacity=1M",
     ["bytes of flash; the array has"]),
    ("frames that are no number, before RDMA is asked for anything",
     "eight.bin eight.bin out.bin --endpoint rdma://192.0.2.1/nqn --frames lots",
     ["frames 'lots'"], NOTHING_DONE),
    ("no output",
     "eight.bin eight.bin",
     ["FILE_C is required"]),
]

READ_ONE = [
    ("a volume that does not exist",
     "emu: 7",
     ["volume 7 does not exist"]),
    ("a flash folder that is not there",
     "emu:?capacity=16M&flash=nowhere",
     ["nowhere"]),
    ("a volume id that is none",
     "emu: 70000",
     ["usage: read_one"]),
    ("a volume id with more behind it",
     "emu: 7x",
     ["usage: read_one"]),
]


def gap_graph(offsets, neighbours):
    return (struct.pack("<?qq", False, len(neighbours), len(offsets) - 1)
            + struct.pack(f"<{len(offsets)}q", *offsets)
            + struct.pack(f"<{len(neighbours)}i", *neighbours))


def write_files(folder):
    banner = "%%MatrixMarket matrix coordinate pattern general\n"
    good = gap_graph([0, 1, 2, 2, 2], [1, 0])
    folder.write("graph.txt", "0 1\n")
    folder.write("short.sg", good[:60])
    folder.write("tiny.sg", good[:5])
    folder.write("neighbour.sg", gap_graph([0, 1, 2], [1, 9]))
    folder.write("empty.el", "")
    folder.write("few.mtx", banner + "4 4 3\n1 2\n2 3\n")
    folder.write("many.mtx", banner + "4 4 2\n1 2\n2 3\n3 4\n")
    folder.write("beyond.mtx", banner + "4 4 2\n1 2\n2 5\n")
    folder.write("large.el", "0 1\n1 2147483648\n")
    folder.write("good.el", "0 1\n1 2\n2 3\n")
    folder.write("empty.bin", b"")
    folder.write("odd.bin", bytes(12))
    folder.write("eight.bin", bytes(64))
    folder.write("sixteen.bin", bytes(128))
    folder.write("large.bin", bytes(4 << 20))
    folder.write("out.bin", "from an earlier run")
    columns = "Trip Seconds,Trip Miles,Fare,Extras,Tips"
    folder.write("columns.csv", columns + "\n1,2,3,4,5\n")
    folder.write("none.csv", columns + ",Tolls\n")
    folder.write("word.csv", columns + ",Tolls\n1,2,3,4,5,6\n1,2,three,4,5,6\n")
    folder.write("early.csv", columns + ",Tolls\n1,2,3,4\n")
    (folder.path / "folder").mkdir()


def main():
    bfs, vector_add, read_one, taxi_query = sys.argv[1:]
    programs = ((bfs, BFS), (vector_add, VECTOR_ADD), (read_one, READ_ONE),
                (taxi_query, TAXI_QUERY))
    failures = 0
    with Folder() as folder:
        write_files(folder)
        before = folder.content()
        for program, cases in programs:
            for name, arguments, expected, *unwanted in cases:
                status, printed = folder.run(program, *arguments.split())
                wrong = [f"does not say: {text}" for text in expected if text not in printed]
                wrong += [f"says: {text}" for texts in unwanted for text in texts
                          if text in printed]
                if not 1 <= status <= 127:
                    wrong.append(f"exit status {status}")
                if folder.content() != before:
                    wrong.append("files changed: " + ", ".join(
                        key for key in {**before, **folder.content()}
                        if before.get(key, "") != folder.content().get(key, "")))
                for line in wrong:
                    failures += 1
                    print(f"{name} ({arguments}): {line}\n  it printed: {printed.strip()}")
        print(f"{sum(len(cases) for _, cases in programs)} bad inputs, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
