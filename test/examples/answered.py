#!/usr/bin/env python3
"""Runs answer_packets on a tap interface in a network namespace of its own, and talks to it by
Linux's own ARP, ICMP and UDP. Where no namespace or no tap is to be had, the program has to say
what is missing and how to get it.

Usage: answered.py PROGRAM
"""

import ctypes
import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK = 0x8914, 0x8916, 0x891C
IFF_UP = 1
NAME, OURS, THEIRS = b"gnstor0", "10.64.0.1", "10.64.0.2"
REMEDIES = ("ip tuntap add dev", "modprobe tun", "chmod a+rw /dev/net/tun")


def enter_namespace():
    """A network namespace of this process: as root, or as somebody who is root in it."""
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.unshare(CLONE_NEWNET) == 0 or libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0


def set_up(interface, address):
    def with_address(text):
        return struct.pack("16sH2s4s8x", interface, socket.AF_INET, b"", socket.inet_aton(text))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFADDR, with_address(address))
        fcntl.ioctl(any_socket, SIOCSIFNETMASK, with_address("255.255.255.0"))
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", interface, IFF_UP))


def echo_by_udp(rounds):
    """Datagrams of many sizes; each has to come back as it went."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(10)
        client.connect((THEIRS, 7))
        for k in range(rounds):
            sent = os.urandom(k * 1472 // (rounds - 1))
            client.send(sent)
            if client.recv(2048) != sent:
                return f"a datagram of {len(sent)} bytes came back changed"
    return ""


def main():
    program = sys.argv[1]
    namespace = enter_namespace()
    with subprocess.Popen([program, "--endpoint", "tap:" + NAME.decode(), "--depth", "16",
                           "--turn", "4", "--buffers", "64"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as running:
        said = ""
        for line in running.stdout:
            said += line
            if line.startswith("answering"):
                break
        problem = ""
        if running.poll() is None and "answering" in said:
            if not namespace:
                problem = "it has made an interface outside of a namespace"
            else:
                try:
                    set_up(NAME, OURS)
                    problem = echo_by_udp(60)
                except OSError as error:
                    problem = str(error)
            running.send_signal(signal.SIGINT)
        said += running.stdout.read()
        code = running.wait(60)
    print(said, end="")
    if code == 0 and not problem and "each frame is in one account: right" in said:
        return 0
    if code == 1 and "answering" not in said and any(r in said for r in REMEDIES):
        print("no tap interface here: the program says how to get one")
        return 0
    print(f"exit status {code}; {problem or 'nothing was answered'}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
