#!/usr/bin/env python3
"""Three etcd, two gnstord of one array, a writer: whoever leads is killed, stopped or cut off.

Usage: leaders.py BUILD_FOLDER [--rounds N] [--seed N] [--only FAULT]
"""

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import rig
from faults import Hosts

# Twice what is promised, as other tests may keep this machine busy; the figures are printed.
SLACK = 1.0 if os.environ.get("GNSTOR_STRICT") == "1" else 2.0
RESUMES_S = 5.0 * SLACK  # from a leader's end to the next one's first change
WITHOUT_ETCD_S = 10.0 * SLACK  # likewise, when etcd has to choose a leader first


class Etcd:
    """Three members of one cluster."""

    def __init__(self, folder):
        self.folder = folder
        self.clients, self.peers = ([rig.free_port() for _ in range(3)] for _ in range(2))
        self.cluster = ",".join(f"n{k}=http://127.0.0.1:{p}" for k, p in enumerate(self.peers))
        self.servers = ",".join(f"127.0.0.1:{p}" for p in self.clients)
        self.processes = [self.member(k) for k in range(3)]

    def member(self, k):
        client, peer = (f"http://127.0.0.1:{ports[k]}" for ports in (self.clients, self.peers))
        with open(self.folder / f"etcd{k}.txt", "a", encoding="utf-8") as into:
            return subprocess.Popen(
                ["etcd", "--name", f"n{k}", "--data-dir", self.folder / f"etcd{k}",
                 "--listen-client-urls", client, "--advertise-client-urls", client,
                 "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", self.cluster, "--logger", "zap", "--log-level", "error"],
                stdout=into, stderr=into, env={**os.environ, "ETCD_UNSUPPORTED_ARCH": ""})

    def restart(self, k):
        self.processes[k].kill()
        self.processes[k].wait()
        self.processes[k] = self.member(k)

    def leader(self):
        """The member that leads, by its metrics; None: nobody says."""
        for k, port in enumerate(self.clients):
            try:
                said = rig.http_get(port, "/metrics")
            except OSError:
                continue
            if re.search(r"^etcd_server_is_leader 1$", said, re.MULTILINE):
                return k
        return None


class Leaders:
    """A target and the two daemons that stand by for each other."""

    def __init__(self, programs, folder):
        self.etcd = Etcd(folder)
        self.target = rig.ManagedElsewhere(programs, folder, daemons=2,
                                           more=("--etcd", self.etcd.servers)).start()
        self.made = 0

    def leader(self):
        """The daemon that leads, and the other one."""
        found = []
        rig.eventually(lambda: found.extend(d for d in self.target.daemons if leads(d)) or found)
        if not found:
            raise SystemExit("no daemon leads")
        return found[0], next(d for d in self.target.daemons if d is not found[0])

    def change(self, begin, limit, what):
        """A volume is made and deleted: how long after `begin`."""
        name, self.made = f"v{self.made}", self.made + 1
        tries = []
        done = rig.eventually(lambda: self.attempt(name, tries), limit + 20)
        after = time.monotonic() - begin
        rig.check(done, what, "nothing can be changed:", *tries[-3:])
        rig.check(after <= limit, what, f"a change took {after:.2f} s")
        code, said = self.target.gnstorctl("volume", "delete", name, "--yes")
        rig.check(code == 0, what, "deleting", name, said)
        return after

    def attempt(self, name, tries):
        code, said = self.target.gnstorctl("volume", "create", name, "--size", "64K")
        tries.append(said)
        # Who took a change over finds it done.
        return code == 0 or "has this name" in said

    def terms(self):
        return [int(t) for t in re.findall(r"manages the array in term (\d+)", self.target.said())]


def leads(daemon):
    if daemon.process.poll() is not None:
        return False
    done = subprocess.run([daemon.programs.path("gnstorctl"), "--server", daemon.control,
                           "--timeout", "500", "array", "show"], capture_output=True, timeout=60,
                          check=False)
    return done.returncode == 0


def killed(one, draw):
    leader, _ = one.leader()
    begin = time.monotonic()
    leader.end(signal.SIGKILL)
    took = one.change(begin, RESUMES_S, "killed:")
    time.sleep(draw.uniform(0, 0.3))
    leader.start()
    return took


def ended(one, _):
    leader, _ = one.leader()
    begin = time.monotonic()
    rig.check(leader.end() == 0, "a leader ends in order:", leader.said()[-500:])
    took = one.change(begin, RESUMES_S, "ended:")
    leader.start()
    return took


def stopped(one, draw):
    """The leader stands still; what was asked of it meanwhile it does not do when it goes on."""
    leader, other = one.leader()
    leader.process.send_signal(signal.SIGSTOP)
    begin = time.monotonic()
    late = subprocess.Popen([leader.programs.path("gnstorctl"), "--server", leader.control,
                             "--timeout", "20000", "volume", "create", "late", "--size", "64K"],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    took = one.change(begin, RESUMES_S, "stopped:")
    time.sleep(draw.uniform(0, 1))
    leader.process.send_signal(signal.SIGCONT)
    said = late.communicate(timeout=30)[0]
    rig.check(late.returncode == 1, "who stood still has done what it was asked:", said)
    code, said = other.gnstorctl("volume", "show", "late")
    rig.check(code == 1 and "no volume is called" in said, "a late order was carried out:", said)
    return took


def cut_off(one, draw):
    """The leader does not reach the array."""
    leader, _ = one.leader()
    begin = time.monotonic()
    leader.cut.touch()
    took = one.change(begin, RESUMES_S + 3, "cut off:")  # by its keep-alive
    time.sleep(draw.uniform(0, 0.5))
    leader.cut.unlink()
    return took


def etcd_killed(one, draw):
    """etcd's own leader is killed, and in half of the cases the daemon that leads."""
    member = one.etcd.leader()
    if member is None:
        return 0.0
    both = draw.random() < 0.5
    leader, _ = one.leader()
    begin = time.monotonic()
    one.etcd.processes[member].kill()
    if both:
        leader.end(signal.SIGKILL)
    took = one.change(begin, WITHOUT_ETCD_S, "etcd's leader killed:")
    one.etcd.restart(member)
    if both:
        leader.start()
    return took


FAULTS = {"killed": killed, "ended": ended, "stopped": stopped, "cut": cut_off,
          "etcd": etcd_killed}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=FAULTS)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("GNSTOR_SEED", "0"))
                        or random.randrange(1 << 30))
    given = parser.parse_args()
    if shutil.which("etcd") is None:
        print("skipped: there is no etcd here (Debian's etcd-server)")
        return rig.SKIPPED
    print("GNSTOR_SEED =", given.seed)
    programs = rig.Programs(given.build)
    draw = random.Random(given.seed)

    def test(folder):
        one = Leaders(programs, folder)
        hosts = Hosts(programs, one.target, folder)
        writer = hosts.writer("alice", draw.randrange(1 << 30))
        names = [given.only] if given.only else list(FAULTS)
        slowest = dict.fromkeys(names, 0.0)
        for k in range(given.rounds):
            name = names[k % len(names)] if k < len(names) else draw.choice(names)
            slowest[name] = max(slowest[name], FAULTS[name](one, draw))
            rig.check(hosts.progress(4), "the writer does not go on:", writer.said())
            other = hosts.client("refused", "bob")
            rig.check(other.wait() == 0, "another host's right:", other.said())
            if rig.failures:
                break
        hosts.end(writer)
        terms = one.terms()
        rig.check(terms == sorted(set(terms)), "a former term came back:", terms)
        if rig.failures:
            for d in one.target.daemons:
                print(d.said()[-2500:])
        one.target.end()
        for name, seconds in slowest.items():
            print(f"  {name}: the next change after {seconds:.2f} s at most")
        print(f"{given.rounds} rounds, {len(terms)} rules, {hosts.lines()} lines of log")

    return rig.run(test)


if __name__ == "__main__":
    sys.exit(main())
