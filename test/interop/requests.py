#!/usr/bin/env python3
"""Writes a capture of frames that ask something of packet kernels.

    requests.py KIND FILE
"""

import struct
import sys

ASKER = bytes.fromhex("020000000009")
NIC = bytes.fromhex("02474e530001")
CLIENT = bytes([10, 64, 0, 1])
SERVER = bytes([10, 64, 0, 2])


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ethernet(kind, payload, to=NIC):
    return to + ASKER + struct.pack("!H", kind) + payload


def ipv4(protocol, payload, to=SERVER, hops=64, whole=False):
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 1, whole << 14, hops, protocol,
                       0, CLIENT, to)
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return ethernet(0x0800, head + payload)


def ping(data):
    body = struct.pack("!BBHHH", 8, 0, 0, 7, len(data)) + data
    return body[:2] + struct.pack("!H", checksum(body)) + body[4:]


def udp(port, data, to=SERVER):
    body = struct.pack("!HHHH", 4000 + len(data), port, 8 + len(data), 0) + data
    pseudo = CLIENT + to + struct.pack("!BBH", 0, 17, len(body))
    return body[:6] + struct.pack("!H", checksum(pseudo + body) or 0xffff) + body[8:]


def pattern(length):
    return bytes(k & 0xff for k in range(length))


def who_has():
    arp = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + ASKER + CLIENT + b"\0" * 6 + SERVER
    return ethernet(0x0806, arp, b"\xff" * 6)


def to_answer():
    """ARP, then pings and datagrams to the echo port, of odd and even lengths."""
    return ([who_has()] + [ipv4(1, ping(pattern(n))) for n in (0, 1, 18, 56, 57, 1000, 1472)] +
            [ipv4(17, udp(7, pattern(n))) for n in (0, 1, 2, 3, 18, 511, 1472)])


def to_route():
    """Datagrams for a known network, a last hop, and where no route leads."""
    there, nowhere = bytes([192, 0, 2, 9]), bytes([203, 0, 113, 1])
    return ([ipv4(17, udp(9, pattern(n), there), there) for n in (0, 1, 511, 1472)] +
            [ipv4(17, udp(9, pattern(40), there), there, hops=1)] +
            [ipv4(17, udp(9, pattern(41), nowhere), nowhere)])


def to_store():
    """A value is set, asked for, and deleted, by memcached's words in datagrams."""
    words = [b"version\r\n", b"set colour 5 0 4\r\nblue\r\n", b"get colour\r\n", b"get shape\r\n",
             b"delete colour\r\n", b"get colour\r\n"]
    return [who_has()] + [ipv4(17, udp(11211, struct.pack("!HHHH", k, 0, 1, 0) + w))
                          for k, w in enumerate(words)]


KINDS = {"answer": to_answer, "route": to_route, "store": to_store}


def main():
    frames = KINDS[sys.argv[1]]()
    with open(sys.argv[2], "wb") as capture:
        capture.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for at, frame in enumerate(frames):
            capture.write(struct.pack("<IIII", at, 0, len(frame), len(frame)) + frame)


if __name__ == "__main__":
    main()
