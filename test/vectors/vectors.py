#!/usr/bin/env python3
"""Test vectors of placement, shards and CRC-32C, computed from docs/placement.md alone.

Usage: vectors.py                      prints vectors, always the same
       vectors.py --check FILE         says whether FILE holds just these
       vectors.py --run BINARY [ARG..] runs BINARY with new ones, named by GNSTOR_VECTORS

A line is a kind, what is given, "=", and what must come out:

    place VID FACTOR STRIPE SSDS REPLICAS = SSD...
    shard VID STRIPE SHARDS = SHARD
    crc HEX = CRC             of these bytes
    page SEED = CRC           of 4,096 bytes: s = s * 6364136223846793005 + 1442695040888963407
                              modulo 2^64, from SEED on; each byte is the highest of the next s
"""

import os
import pathlib
import random
import secrets
import subprocess
import sys
import tempfile

BEGIN, END = 'R"vectors(', ')vectors"\n'  # what makes of it a C++ string


def mix64(x):
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> shift)) * factor % 2**64
    return x ^ (x >> 31)


def mix32(x):
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = (x ^ (x >> shift)) * factor % 2**32
    return x ^ (x >> 16)


def replicas(vid, factor, stripe, ssds, wanted):
    key = mix64(factor ^ (vid * 2**32 + stripe)) // 2**32
    scores = [mix32(key ^ 0x9E3779B9 * (ssd + 1) % 2**32) for ssd in range(ssds)]
    ranked = sorted(range(ssds), key=lambda ssd: (-scores[ssd], ssd))
    return ranked[:min(wanted, 8)]


def shard(vid, stripe, shards):
    return mix32(stripe ^ mix32((0xD6E8FEB8 + vid) % 2**32)) * shards // 2**32


def reflected(value, bits):
    return int(format(value, f"0{bits}b")[::-1], 2)


def crc32c(data):
    """Division by the polynomial, one bit of the message after another."""
    remainder = 0xFFFFFFFF
    for byte in data:
        remainder ^= reflected(byte, 8) << 24
        for _ in range(8):
            remainder = remainder << 1 ^ (0x11EDC6F41 if remainder >> 31 else 0)
    return reflected(remainder, 32) ^ 0xFFFFFFFF


def page(seed):
    data = bytearray()
    for _ in range(4096):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        data.append(seed >> 56)
    return data


def lines(draw, count):
    for _ in range(count):
        vid = draw.choice((1, 65535, draw.randrange(1, 65536)))
        stripe = draw.choice((0, 2**32 - 1, draw.randrange(1000), draw.randrange(2**32)))
        factor = draw.choice((0, 2**64 - 1, draw.randrange(2**64)))
        ssds = draw.choice((1, 2, 3, 4, 64, draw.randrange(1, 65)))
        wanted = draw.choice((1, 2, 2, 3, 8))
        found = " ".join(map(str, replicas(vid, factor, stripe, ssds, wanted)))
        yield f"place {vid} {factor} {stripe} {ssds} {wanted} = {found}"
        shards = draw.choice((1, 8, 64, draw.randrange(1, 65)))
        yield f"shard {vid} {stripe} {shards} = {shard(vid, stripe, shards)}"
    for data in (bytes(32), b"\xff" * 32, bytes(range(32)), bytes(range(31, -1, -1))):
        yield f"crc {data.hex()} = {crc32c(data)}"  # those of RFC 3720
    for _ in range(8):
        data = draw.randbytes(4 * draw.randrange(1, 40))
        yield f"crc {data.hex()} = {crc32c(data)}"
    for _ in range(6):
        seed = draw.randrange(2**64)
        yield f"page {seed} = {crc32c(page(seed))}"


def recorded():
    return BEGIN + "\n".join(lines(random.Random(22), 120)) + "\n" + END


def run_with_new(command):
    seed = secrets.randbelow(2**32)
    print(f"vectors of seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "vectors.txt"
        path.write_text("\n".join(lines(random.Random(seed), 1000)) + "\n")
        environment = {**os.environ, "GNSTOR_VECTORS": str(path)}
        return subprocess.run(command, env=environment, check=False).returncode


def main(arguments):
    if arguments[:1] == ["--run"] and len(arguments) > 1:
        return run_with_new(arguments[1:])
    if arguments[:1] == ["--check"] and len(arguments) == 2:
        same = pathlib.Path(arguments[1]).read_text() == recorded()
        print("the vectors that are kept", "are" if same else "are NOT", "those of the definition")
        return 0 if same else 1
    if arguments:
        sys.exit(__doc__)
    print(recorded(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
