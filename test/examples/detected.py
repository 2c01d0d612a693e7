#!/usr/bin/env python3
"""Writes a capture of which it knows what each frame is, has detect_intrusions inspect it, and
compares every alert and every count. A rule that cannot be meant has to be named by its line.

Usage: detected.py PROGRAM
"""

import collections
import socket
import struct
import sys

from running import Folder

RULES = r"""
# Three kinds of traffic, and one host that nobody minds.
alert tcp any any -> 10.0.1.0/24 80 (msg:"password file"; content:"GET "; depth:4; \
    content:"/etc/passwd"; nocase; sid:1001; rev:2;)
alert udp any any -> any 53 (msg:"query"; content:"|03|www|07|example"; sid:1002;)
drop icmp any any -> any any (msg:"sled"; content:"|90 90 90 90|"; sid:1003;)
alert ip 10.0.0.66 any -> any any (msg:"listed"; sid:1004;)
pass ip 10.0.0.9 any -> any any (msg:"scanner of ours"; sid:1005;)
"""
NAMES = {1001: "[1001:2] password file", 1002: "[1002:0] query",
         1003: "[1003:0] dropped: sled", 1004: "[1004:0] listed"}


def ethernet(kind, data):
    return bytes.fromhex("020000000001020000000002") + struct.pack(">H", kind) + data


def ipv4(protocol, source, data, fragment=0x4000):
    return ethernet(0x0800, struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(data), 7, fragment, 64,
                                        protocol, 0) +
                    socket.inet_aton(source) + socket.inet_aton("10.0.1.1") + data)


def tcp(source, port, data):
    header = struct.pack(">HHIIBBHHH", 40000, port, 1, 1, 0x50, 0x18, 99, 0, 0)
    return ipv4(6, source, header + data)


def udp(source, port, data):
    return ipv4(17, source, struct.pack(">HHHH", 5353, port, 8 + len(data), 0) + data)


def icmp(source, data):
    return ipv4(1, source, struct.pack(">BBHI", 8, 0, 0, 1) + data)


def frames():
    """(frame, the rules that it matches), over and over."""
    host, listed, ours = "10.0.0.1", "10.0.0.66", "10.0.0.9"
    attack = b"GET /../../etc/PASSWD HTTP/1.1\r\n"
    query = b"\0\1\1\0\0\1\0\0\0\0\0\0\3www\7example\3com\0\0\1\0\1"
    sled = b"x" * 700 + b"\x90" * 40
    for k in range(100):
        yield tcp(host, 80, attack), [1001]
        yield tcp(host, 8080, attack), []
        yield tcp(host, 80, b" " + attack), []
        yield tcp(host, 80, b"GET /index.html" + b"." * k), []
        yield tcp(listed, 80, b"." * 4 * k), [1004]
        yield tcp(listed, 80, attack + attack), [1001, 1004]
        yield udp(host, 53, query), [1002]
        yield udp(host, 53, query.upper()), []
        yield udp(host, 53, b"") + b"\3www\7example", []  # what Ethernet fills it up with
        yield icmp(host, sled), [1003]
        yield icmp(host, b"\x90" * 3 + b"x" + b"\x90" * 3), []
        yield tcp(ours, 80, attack), "pass"
        yield ethernet(0x0806, bytes(46)), "not IPv4"
        yield ipv4(6, host, b"x" * 40, 0x2000), "fragment"
        yield ipv4(6, host, b"x" * 19), "malformed"


def capture(all_frames):
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return head + b"".join(struct.pack("<IIII", 0, 0, len(f), len(f)) + f for f in all_frames)


def problem(program, folder):
    """What is wrong, or nothing."""
    known = list(frames())
    folder.write("rules", RULES)
    folder.write("in.pcap", capture(f for f, _ in known))
    code, printed = folder.run(program, "--endpoint", "pcap:in.pcap", "--rules", "rules")
    print(printed[-1200:])
    alerts = collections.Counter(NAMES[sid] for _, what in known if isinstance(what, list)
                                 for sid in what)
    seen = collections.Counter(line.split(": protocol")[0] for line in printed.splitlines()
                               if line.startswith("["))
    if code != 0 or seen != alerts:
        return f"exit status {code}, alerts {dict(seen)}, not {dict(alerts)}"
    for line in (f"{len(known)} frames: 1200 inspected, 100 not IPv4, 100 malformed, 100 fragments",
                 f"{sum(alerts.values())} alerts, 0 lost, 100 frames passed by a rule, 100 dropped",
                 "protocol 17, 10.0.0.1:5353 -> 10.0.1.1:53", "account: right"):
        if line not in printed:
            return f"it did not print {line}"
    folder.write("bad", "\nalert tcp any any -> any any (content:\"a; sid:1;)\n")
    code, printed = folder.run(program, "--endpoint", "pcap:in.pcap", "--rules", "bad")
    if code != 1 or "bad:2: a string without its end" not in printed:
        return f"exit status {code} for a bad rule: {printed}"
    code, printed = folder.run(program)
    return "" if code == 1 and "--rules FILE" in printed else f"without rules: {printed}"


def main():
    with Folder() as folder:
        wrong = problem(sys.argv[1], folder)
    print(wrong or "600 alerts, each of them known before: right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
