#!/usr/bin/env python3
"""Processes at a served array are killed, or stopped for longer than the keep-alive: every block
holds what was acknowledged, and the next host writes soon.

Usage: faults.py BUILD_FOLDER [--rounds N] [--seed N] [--only FAULT] [--elsewhere]
                 [--former BUILD_FOLDER]
"""

import argparse
import json
import os
import random
import signal
import sys
import time

import rig

HOSTS = ("alice", "bob")
SPARES = "ssds=6&capacity=64M&replicas=2"  # of which 4 and 5 are spares
# What is promised, by GNSTOR_STRICT=1; else other tests may keep this machine busy.
STRICT = os.environ.get("GNSTOR_STRICT") == "1"
TAKE_OVER_S = 2.0  # from a writer's end to the next one's right, mostly
MOST_S = TAKE_OVER_S if STRICT else 5.0  # likewise, at most


class Hosts:
    """Alice and bob at one volume, and the log of what they write."""

    volume = "data"
    former = None  # programs of a former version, if there are

    def __init__(self, programs, target, folder, keep_alive_ms=10_000):  # 0: the default
        self.programs, self.target, self.folder = programs, target, folder
        self.log, self.cut = folder / "log", folder / "cut"
        self.endpoint = target.endpoint
        if keep_alive_ms:
            self.endpoint += f"?keep_alive_ms={keep_alive_ms}"
        # Who falls silent has lost its right by then: its keep-alive, or a lease of a second, ends.
        self.fenced_after_s = min((keep_alive_ms or 1000) / 1000, 1) + 1
        code = self.client("create", "alice", "--admit", "bob").wait()
        rig.check(code == 0, "the volume is made")

    def client(self, verb, host, *more, cut=None):
        return rig.Client(self.programs, self.folder, "processes_writer", verb, "--endpoint",
                          self.endpoint, "--volume", self.volume, "--log", self.log, "--host", host,
                          *more, cut=cut)

    def writer(self, host, seed, *more, cut=None):
        """One that writes, when it does."""
        one = self.client("write", host, "--seed", seed, "--patience", 20_000, *more, cut=cut)
        rig.check(one.until("writes\n", 40), host, "does not write:", one.said())
        return one

    def lines(self):
        """How many the log has."""
        return self.log.read_bytes().count(b"\n") if self.log.exists() else 0

    def progress(self, lines, seconds=30):
        """Whether the log has grown so much by then."""
        before = self.lines()
        return rig.eventually(lambda: self.lines() >= before + lines, seconds)

    def check(self, host):
        one = self.client("check", host)
        rig.check(one.wait() == 0, "the volume as", host, "sees it:", one.said())

    def end(self, writer):
        """The last one that writes ends, and everything is as it wrote it."""
        rig.check(writer.end() == 0, "the writer ends in order:", writer.said())
        for host in HOSTS:
            self.check(host)
        self.check_replicas()

    def check_replicas(self):
        """Each replica of each block holds what it should: it is read while the other is away."""
        for ssd in "0123":
            for verb in ("detach", "replace"):
                code, said = self.target.gnstorctl("ssd", verb, ssd)
                rig.check(code == 0, "gnstorctl ssd", verb, ssd, said)
                if verb == "detach":
                    self.check("alice")
            rig.check(rig.eventually(self.target.healthy), "the array is not in sync again",
                      *self.target.gnstorctl("array", "health"))


def killed(hosts, writer, heir, seed):
    """Kills who writes; seconds until `heir`, which begins at once, may write."""
    writer.end(signal.SIGKILL)
    begin = time.monotonic()
    next_one = hosts.client("write", heir, "--seed", seed, "--patience", 20_000)
    rig.check(next_one.until("open"), heir, "may not write:", next_one.said())
    took = time.monotonic() - begin
    rig.check(next_one.until("writes"), "what", heir, "finds:", next_one.said())
    rig.check(next_one.end() == 0, heir, "ends in order:", next_one.said())
    return took


def took_over(hosts, took, who):
    """Judges after how long writers were followed by others."""
    usual, slowest = sorted(took)[len(took) // 2], max(took)
    rig.check(usual < TAKE_OVER_S and slowest < MOST_S,
              f"{who} could write only {usual:.2f} s after the kill, {slowest:.2f} s at most")
    hosts.check_replicas()
    print(f"{len(took)} writers killed: {who} wrote after {usual:.2f} s, {slowest:.2f} s at most")


def client_killed(hosts, draw, rounds):
    """A writer is killed; the other host writes within `TAKE_OVER_S`."""
    took = []
    for k in range(rounds):
        writer = hosts.writer(HOSTS[k % 2], draw.randrange(1 << 30))
        time.sleep(draw.uniform(0, 0.3))
        took.append(killed(hosts, writer, HOSTS[(k + 1) % 2], k))
        if rig.failures:
            return
    took_over(hosts, took, "the other host")


def twin_killed(hosts, draw, rounds):
    """Of two processes of one host name one writes; it is killed, and another one of that name
    begins at once: it is let write, and nobody else meanwhile. What is revoked from the name is
    revoked from who writes."""
    took = []
    for k in range(rounds):
        writer = hosts.writer("alice", draw.randrange(1 << 30))
        for host in HOSTS:
            other = hosts.client("refused", host)
            rig.check(other.wait() == 0, host, "beside alice:", other.said())
        time.sleep(draw.uniform(0, 0.2))
        took.append(killed(hosts, writer, "alice", k))
        if rig.failures:
            return
    writer = hosts.writer("alice", draw.randrange(1 << 30))
    code, said = hosts.target.gnstorctl("lease", "revoke", hosts.volume, "alice")
    rig.check(code == 0, "gnstorctl lease revoke:", said)
    heir = hosts.writer("bob", draw.randrange(1 << 30))
    rig.check(writer.wait() != 0, "alice writes on:", writer.said())
    rig.check(heir.end() == 0, "bob ends in order:", heir.said())
    took_over(hosts, took, "the next of that name")


def target_suffers(hosts, draw, rounds, happens, what, *options):
    """The target's writer goes on after `happens(target)`, with the same right."""
    writer = hosts.writer("alice", draw.randrange(1 << 30), *options)
    slowest = 0.0
    for _ in range(rounds):
        time.sleep(draw.uniform(0, 0.3))
        begin = time.monotonic()
        happens(hosts.target)
        rig.check(hosts.progress(4), "the writer does not go on:", writer.said())
        slowest = max(slowest, time.monotonic() - begin)
        other = hosts.client("refused", "bob")
        rig.check(other.wait() == 0, "another host's right:", other.said())
        if rig.failures:
            return
    hosts.end(writer)
    print(f"the target was {what} {rounds} times: its writer went on after {slowest:.2f} s at most")


def target_killed(hosts, draw, rounds):
    """The target is killed and started again: its hosts connect again, and see no error."""
    def kill(target):
        target.end(signal.SIGKILL)
        target.start()

    # The first thing that a session asks of the new manager.
    writer = hosts.writer("bob", draw.randrange(1 << 30))
    kill(hosts.target)
    rig.check(hosts.progress(4), "the writer does not go on:", writer.said())
    rig.check(writer.end() == 0, "the writer ends in order:", writer.said())
    target_suffers(hosts, draw, rounds, kill, "killed")


def kernel_beside(hosts, draw, rounds):
    """The target is killed and started again, or ends in order, while a kernel reads and writes:
    the kernel waits, and sees no error."""
    enough = hosts.folder / "enough"
    kernel = rig.Client(hosts.programs, hosts.folder, "interop_managed", "restarts", "--endpoint",
                        hosts.endpoint, "--until", enough)

    def rounds_done():
        return int((kernel.said().rsplit("round ", 1) + ["0"])[1].split("\n")[0] or 0)

    rig.check(rig.eventually(lambda: rounds_done() > 0), "no kernel runs:", kernel.said())
    slowest = 0.0
    for k in range(rounds):
        time.sleep(draw.uniform(0, 0.3))
        begin, before = time.monotonic(), rounds_done()
        hosts.target.end(*((signal.SIGKILL,) if k % 3 != 2 else ()))
        hosts.target.start()
        rig.check(rig.eventually(lambda now=before: rounds_done() > now + 1),
                  "the kernel stands still", kernel.said())
        slowest = max(slowest, time.monotonic() - begin)
        if rig.failures:
            return
    enough.touch()
    rig.check(kernel.wait() == 0, "a kernel beside a target that is killed:", kernel.said())
    print(f"the target was killed {rounds} times: a kernel went on after {slowest:.2f} s at most")


def upgraded(hosts, draw, rounds):
    """The daemons, then the target, end in order and others take their places, as docs/upgrading.md
    says: who writes sees no error. With a former version there are those of the other one each
    time, forth and back; programs, which come last, are of the former one until it is over."""
    versions = [hosts.programs, hosts.former or hosts.programs]

    def upgrade(target):
        for server in [*getattr(target, "daemons", []), target]:
            rig.check(rig.Server.end(server) == 0, server.program, "ends in order")
            server.programs = versions[server.programs is versions[0]]
            rig.Server.start(server)
            rig.check(hosts.progress(4), "the writer does not go on behind", server.program)
            time.sleep(draw.uniform(0, 0.2))
        rig.check(rig.eventually(target.healthy), "the array is not in sync again",
                  *target.gnstorctl("array", "health"))

    hosts.programs = versions[1]
    target_suffers(hosts, draw, rounds, upgrade, "upgraded")
    hosts.programs = versions[0]
    for host in HOSTS:
        hosts.check(host)


def stop_for(target, seconds):
    target.process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    target.process.send_signal(signal.SIGCONT)


def target_stopped(hosts, draw, rounds):
    """The target stands still for less than a session waits for its answer: no error."""
    target_suffers(hosts, draw, rounds, lambda t: stop_for(t, draw.uniform(0.1, 2)), "stopped")


def manager_asleep(hosts, draw, rounds):
    """The manager stands still for longer than the lease, and finds another host's wish when it
    goes on: who writes writes on, by the lease that it had."""
    manager = getattr(hosts.target, "daemons", [hosts.target])[0]
    # A session waits for an answer for a quarter of its time: the target may stand still, too.
    writer = hosts.writer("alice", draw.randrange(1 << 30), "--timeout", 20_000)
    for _ in range(rounds):
        time.sleep(draw.uniform(0, 0.3))
        manager.process.send_signal(signal.SIGSTOP)
        other = hosts.client("refused", "bob")
        time.sleep(draw.uniform(3.2, 4))
        manager.process.send_signal(signal.SIGCONT)
        rig.check(other.wait() == 0, "another host's right:", other.said())
        rig.check(hosts.progress(4), "the writer does not go on:", writer.said())
        if rig.failures:
            return
    hosts.end(writer)
    print(f"the manager stood still {rounds} times for longer than a lease")


def target_given_up(hosts, draw, rounds):
    """The target stands still for longer than a session waits: what it finds then in its queues is
    too late. The session comes back, and writes on by the lease that it had."""
    for k in range(rounds):
        writer = hosts.writer(HOSTS[k % 2], draw.randrange(1 << 30), "--timeout", 1000, "--retry",
                              2500)
        time.sleep(draw.uniform(0, 0.2))
        stop_for(hosts.target, draw.uniform(0.9, 2))
        rig.eventually(lambda: "lacks the right" in writer.said(), draw.uniform(0.2, 1))
        rig.check("lacks the right" not in writer.said(), "a lease is lost:", writer.said())
        writer.end(draw.choice((signal.SIGKILL, signal.SIGTERM)))
        heir = hosts.writer(HOSTS[(k + 1) % 2], k)
        rig.check(heir.end() == 0, "the heir ends in order:", heir.said())
        if rig.failures:
            return
    hosts.check_replicas()
    print(f"the target was stopped {rounds} times until its writer gave up")


def repair_killed(hosts, draw, rounds):
    """The target is killed while an SSD is away or being filled."""
    def kill(target):
        ssd = str(draw.randrange(4))
        for verb in ("detach", "replace"):
            code, said = target.gnstorctl("ssd", verb, ssd)
            rig.check(code == 0, "gnstorctl ssd", verb, ssd, said)
            time.sleep(draw.uniform(0, 0.05))
            if draw.random() < 0.3:
                break
        target.end(signal.SIGKILL)
        target.start()
        if "absent" in target.gnstorctl("array", "show")[1]:
            said = []  # a daemon elsewhere may not know yet that its connection is lost
            def replaced():
                code, words = target.gnstorctl("ssd", "replace", ssd)
                said.append(words)
                return code == 0
            rig.check(rig.eventually(replaced), "gnstorctl ssd replace", ssd, said[-1])
        rig.check(rig.eventually(target.healthy), "the array is not in sync again",
                  *target.gnstorctl("array", "health"))

    target_suffers(hosts, draw, rounds, kill, "killed during a repair")


def drained(hosts, draw, rounds):
    """An SSD is emptied, taken away, and given its share again, while a host writes and the target
    is killed now and then: the writer sees no error, and every block holds what it was promised."""
    target = hosts.target
    writer = hosts.writer("alice", draw.randrange(1 << 30))

    def ssd():
        code, said = target.gnstorctl("--format", "json", "array", "show")
        return json.loads(said)["ssds"][3] if code == 0 else {}

    def moved(verb, there):
        def asked():
            if draw.random() < 0.1:
                target.end(signal.SIGKILL)
                target.start()
            now = ssd()
            if now.get("volumes") == there and now.get("volumes_left") == 0:
                return True
            if now.get("aim") == "AIM_NONE":  # this manager has not been asked
                target.gnstorctl("ssd", verb, "3")
            return False
        target.gnstorctl("ssd", verb, "3")
        rig.check(rig.eventually(asked, 60), "gnstorctl ssd", verb, ssd())
        rig.check(hosts.progress(4), verb, "the writer does not go on:", writer.said())

    for _ in range(rounds):
        moved("drain", 0)
        code, said = target.gnstorctl("ssd", "detach", "3")
        rig.check(code == 0 and rig.eventually(target.healthy), "an empty SSD is taken away:", said)
        moved("add", 1)
        if rig.failures:
            return
    rig.check(writer.end() == 0, "the writer ends in order:", writer.said())
    hosts.check("bob")
    hosts.check_replicas()
    print(f"an SSD was drained, and came back, {rounds} times")


def exchanged(hosts, draw, rounds):
    """An SSD in the middle is exchanged for a spare, and comes back, while a host writes and the
    target is killed now and then: the writer sees no error, and no replica is ever missing."""
    target = hosts.target
    writer = hosts.writer("alice", draw.randrange(1 << 30))

    steps = set()  # how far fills were

    def array():
        code, said = target.gnstorctl("--format", "json", "array", "show")
        now = json.loads(said) if code == 0 else {}
        for r in now.get("repairs", []):
            done, total = (int(r.get(what, 0)) for what in ("done_bytes", "total_bytes"))
            if r["kind"] == "fill" and 0 < done < total:
                steps.add(done)
        return now

    def comes(what, holds, again):
        def asked():
            if draw.random() < 0.1:
                target.end(signal.SIGKILL)
                target.start()
            now = array()
            rig.check(now.get("degraded", 0) == 0, what, "a replica is missing", now)
            if now and holds(now["ssds"]):
                return True
            target.gnstorctl(*again)  # a manager that was killed may not have begun it
            return bool(rig.failures)
        rig.check(rig.eventually(asked, 60), what, array())
        rig.check(hosts.progress(4), what, "the writer does not go on:", writer.said())

    for k in range(rounds):
        ssd = draw.randrange(4)
        code, said = target.gnstorctl("ssd", "drain", str(ssd))
        if ssd == 3:  # the others could have its share
            target.gnstorctl("ssd", "drain", "3", "--cancel")
            code, said = target.gnstorctl("ssd", "replace", "3", "--with", "5")
        rig.check(code == 0 and f"being moved to SSD {5 if ssd == 3 else 4}" in said
                  or "may be pulled" in said, "gnstorctl ssd drain", ssd, said)
        spare = "5" if ssd == 3 else "4"
        comes(f"SSD {ssd} is exchanged",
              lambda all: all[ssd].get("successor") == int(spare)
              and all[ssd]["state"] == "STATE_ABSENT"
              and all[int(spare)]["state"] == "STATE_IN_SYNC",
              ("ssd", "replace", str(ssd), "--with", spare))
        code, said = target.gnstorctl("array", "health")
        rig.check(code == 0, "nobody misses the SSD that left:", said)
        comes(f"SSD {ssd} is back", lambda all: all[ssd]["state"] == "STATE_IN_SYNC"
              and all[int(spare)]["state"] == "STATE_ABSENT", ("ssd", "replace", str(ssd)))
        if rig.failures:
            return
    rig.check(len(steps) > 1, "gnstorctl array show says how far a fill is:", sorted(steps))
    hosts.end(writer)
    print(f"an SSD was exchanged, and came back, {rounds} times; a fill was seen at",
          f"{len(steps)} steps")


def counting_kernel(hosts):
    """A kernel that counts in a volume of its own until `ends_well`."""
    kernel = rig.Client(hosts.programs, hosts.folder, "interop_managed", "kernel", "--endpoint",
                        hosts.endpoint, "--until", hosts.folder / "enough")
    rig.check(rig.eventually(lambda: kernel.said().count("round") > 1), "no kernel:", kernel.said())
    return kernel


def ends_well(hosts, kernel):
    before = kernel.said().count("round")
    rig.check(rig.eventually(lambda: kernel.said().count("round") > before + 1),
              "the kernel stands still:", kernel.said())
    (hosts.folder / "enough").touch()
    rig.check(kernel.wait() == 0, "a kernel beside:", kernel.said())


def ssd_died(hosts, draw, rounds):
    """The blocks of an SSD are gone while a host and a kernel write: a spare takes its place by
    itself, neither sees an error, and every block holds what was acknowledged."""
    target, kernel = hosts.target, counting_kernel(hosts)

    def ssds():
        code, said = target.gnstorctl("--format", "json", "array", "show")
        return json.loads(said)["ssds"] if code == 0 else []

    writer = hosts.writer("alice", draw.randrange(1 << 30))
    filled, stood_still = 0.0, []
    dead = draw.sample(range(4), min(rounds, 2))
    for ssd in dead:
        time.sleep(draw.uniform(0, 0.3))
        begin = time.monotonic()
        file = target.folder / "flash" / f"ssd{ssd}.flash"
        os.truncate(file, file.stat().st_size - (64 << 20))  # its pages, not what it knows of them
        rig.check(rig.eventually(lambda: ssds()[ssd]["state"] == "STATE_ABSENT"), "it is taken out")
        rig.check(hosts.progress(20), "the writer does not go on:", writer.said())
        stood_still.append(time.monotonic() - begin)
        rig.check(rig.eventually(lambda: ssds()[ssd].get("successor", -1) >= 4 and target.healthy(),
                                 60), "no spare takes its place:", ssds())
        filled = max(filled, time.monotonic() - begin)
        if rig.failures:
            return
    rig.check(min(stood_still) <= TAKE_OVER_S, "the writer stood still for", stood_still)
    rig.check(max(stood_still) <= MOST_S, "the writer stood still for", stood_still)
    rig.check(writer.end() == 0, "the writer ends in order:", writer.said())
    ends_well(hosts, kernel)
    for host in HOSTS:
        hosts.check(host)
    # Each replica of each block once by itself, also those on spares.
    for ssd in sorted(set(range(4)) - set(dead)):
        for verb in ("detach", "replace"):
            code, said = target.gnstorctl("ssd", verb, str(ssd))
            rig.check(code == 0, "gnstorctl ssd", verb, ssd, said)
            hosts.check("alice")
        rig.check(rig.eventually(target.healthy), "the array is not in sync again", ssds())
    print(f"{len(dead)} SSDs died: the writer went on after {max(stood_still):.2f} s at most,",
          f"a spare was in sync after {filled:.2f} s")


def ssd_blank(hosts, draw, rounds):
    """An SSD is taken out, and a new one put in its place while the target is off: it is not taken
    for the one that was there, is filled when that is asked for, and the writer sees no error."""
    target = hosts.target
    writer = hosts.writer("alice", draw.randrange(1 << 30))
    for _ in range(rounds):
        ssd = draw.randrange(4)
        time.sleep(draw.uniform(0, 0.3))
        code, said = target.gnstorctl("ssd", "detach", str(ssd))
        rig.check(code == 0, "gnstorctl ssd detach", ssd, said)
        target.end(draw.choice((signal.SIGKILL, signal.SIGTERM)))
        (target.folder / "flash" / f"ssd{ssd}.flash").unlink()
        target.start()
        code, said = target.gnstorctl("--format", "json", "array", "show")
        rig.check(code == 0 and json.loads(said)["ssds"][ssd]["state"] == "STATE_ABSENT",
                  "a blank SSD serves:", said)
        rig.check(hosts.progress(4), "the writer does not go on:", writer.said())
        code, said = target.gnstorctl("ssd", "replace", str(ssd))
        rig.check(code == 0, "gnstorctl ssd replace", ssd, said)
        rig.check(rig.eventually(target.healthy), "the array is not in sync again",
                  *target.gnstorctl("array", "health"))
        if rig.failures:
            return
    hosts.end(writer)
    print(f"{rounds} times another SSD was put in the place of one")


def ssd_silent(hosts, draw, rounds):
    """An SSD swallows what it is asked while a host and a kernel write, and answers again later:
    neither sees an error, and the SSD comes back by itself with what it had."""
    target, took, kernel = hosts.target, [], counting_kernel(hosts)

    def ssd(k):
        code, said = target.gnstorctl("--format", "json", "array", "show")
        return json.loads(said)["ssds"][k] if code == 0 else {}

    target.faults.write_text("4 silent\n")
    rig.check(rig.eventually(lambda: "line 1: expected an SSD from 0 to 3" in target.said()),
              "a line of an SSD that there is not:", target.said()[-500:])
    writer = hosts.writer("alice", draw.randrange(1 << 30))
    for _ in range(rounds):
        k = draw.randrange(4)
        time.sleep(draw.uniform(0, 0.3))
        begin = time.monotonic()
        target.faults.write_text(f"# a rehearsal\n{k} silent\n")
        rig.check(rig.eventually(lambda: ssd(k).get("state") == "STATE_ABSENT"),
                  "SSD", k, "is not taken out:", ssd(k), target.said()[-1000:])
        rig.check(hosts.progress(20), "the writer does not go on:", writer.said())
        took.append(time.monotonic() - begin)
        target.faults.write_text("")
        rig.check(rig.eventually(lambda: ssd(k).get("state") == "STATE_IN_SYNC", 60),
                  "SSD", k, "does not come back:", ssd(k))
        rig.check(rig.eventually(target.healthy, 60), "the array is not in sync again", ssd(k))
        if rig.failures:
            return
    ends_well(hosts, kernel)
    hosts.end(writer)
    rig.check(max(took) <= MOST_S, "the writer stood still for", took)
    print(f"{rounds} SSDs fell silent: the writer went on after {max(took):.2f} s at most")


def killed_beside_silent(hosts, draw, rounds):
    """A writer is killed just as an SSD falls silent: it is fenced, and the next one writes, when
    the SSD has been given up."""
    target, took = hosts.target, []
    for k in range(rounds):
        writer = hosts.writer(HOSTS[k % 2], draw.randrange(1 << 30))
        time.sleep(draw.uniform(0, 0.3))
        target.faults.write_text(f"{draw.randrange(4)} silent\n")
        time.sleep(draw.uniform(0, 0.3))
        took.append(killed(hosts, writer, HOSTS[(k + 1) % 2], k))
        target.faults.write_text("")
        rig.check(rig.eventually(target.healthy, 60), "the array is not in sync again",
                  *target.gnstorctl("array", "health"))
        if rig.failures:
            return
    rig.check(max(took) <= TAKE_OVER_S + (0 if STRICT else MOST_S), "the next one wrote after",
              took)
    hosts.check_replicas()
    print(f"{rounds} writers killed beside an SSD that falls silent: the next one could write",
          f"after {max(took):.2f} s at most")


def both_killed(hosts, draw, rounds):
    """A writer and the target are killed: the other host writes when the target is back, and the
    lease that the one had is over: nothing tells the new target that its holder is gone."""
    for k in range(rounds):
        writer = hosts.writer(HOSTS[k % 2], draw.randrange(1 << 30))
        time.sleep(draw.uniform(0, 0.3))
        ends = [lambda: writer.end(signal.SIGKILL), lambda: hosts.target.end(signal.SIGKILL)]
        draw.shuffle(ends)
        for end in ends:
            end()
            time.sleep(draw.choice((0, draw.uniform(0, 0.05))))
        hosts.target.start()
        heir = hosts.writer(HOSTS[(k + 1) % 2], k)
        rig.check(heir.end() == 0, "the heir ends in order:", heir.said())
        if rig.failures:
            return
    hosts.check_replicas()
    print(f"{rounds} times a writer and the target were killed")


def daemon_killed(hosts, draw, rounds):
    """The daemon is killed, is away, and is started again: who writes does not notice."""
    def kill(target):
        daemon = target.daemons[0]
        daemon.end(signal.SIGKILL)
        back = time.monotonic() + float(os.environ.get("GNSTOR_AWAY_S", draw.uniform(0, 0.5)))
        rig.check(hosts.progress(20), "the writer stands still without a manager")
        while time.monotonic() < back and not rig.failures:
            rig.check(hosts.progress(20, 5), "the writer stands still without a manager")
        daemon.start()

    target_suffers(hosts, draw, rounds, kill, "without its manager")


def silenced(hosts, draw, rounds, what, fall_silent, wake_up, names=HOSTS):
    """A writer falls silent, loses its right, and speaks again: too late."""
    took = []
    for k in range(rounds):
        first, second = names[k % 2], names[(k + 1) % 2]
        writer = hosts.writer(first, draw.randrange(1 << 30), "--timeout", 1000, cut=hosts.cut)
        time.sleep(draw.uniform(0, 0.2))
        fall_silent(writer)
        silent = time.monotonic()
        heir = hosts.writer(second, k)
        took.append(time.monotonic() - silent)
        wake_up(writer)
        rig.check(hosts.progress(50), "the heir writes on:", heir.said())
        code = writer.end()
        rig.check(code is not None, "who was", what, "does not end:", writer.said())
        rig.check(code == 1 or "0 writes" in writer.said(), "who was", what, "may write still:",
                  code, writer.said())
        rig.check(heir.end() == 0, "the heir ends in order:", heir.said())
        hosts.check(first)
        if rig.failures:
            return
    usual, slowest = sorted(took)[len(took) // 2], max(took)
    over = hosts.fenced_after_s
    rig.check(usual < over + (0 if STRICT else 1) and slowest < over + (0 if STRICT else MOST_S),
              f"a host could write only {usual:.2f} s after one that was {what}, "
              f"{slowest:.2f} s at most")
    hosts.check_replicas()
    print(f"{rounds} writers {what}:",
          f"the other wrote after {usual:.2f} s, {slowest:.2f} s at most")


def stop(writer):
    writer.process.send_signal(signal.SIGSTOP)


def go_on(writer):
    writer.process.send_signal(signal.SIGCONT)


def client_stopped(hosts, draw, rounds):
    silenced(hosts, draw, rounds, "stopped for longer than the keep-alive", stop, go_on)


def lease_over(hosts, draw, rounds):
    """The connection stays: what was under way comes when another host holds the right."""
    silenced(hosts, draw, rounds, "stopped for longer than the lease", stop, go_on)


def client_cut_off(hosts, draw, rounds):
    silenced(hosts, draw, rounds, "cut off for longer than the keep-alive",
             lambda _: hosts.cut.touch(), lambda _: hosts.cut.unlink())


def former_self(hosts, draw, rounds):
    """A host of the same name begins elsewhere while the former one is cut off."""
    silenced(hosts, draw, rounds, "cut off, and begun again elsewhere",
             lambda _: hosts.cut.touch(), lambda _: hosts.cut.unlink(), names=("alice", "alice"))


# Each with its share of the rounds, and options of the hosts and of the target.
FAULTS = {"client": (client_killed, 1, {}, ()),
          "twins": (twin_killed, 0.5, {}, ()),
          "target": (target_killed, 1, {}, ()),
          "both": (both_killed, 0.3, {}, ("--lease", "1")),
          "drain": (drained, 0.3, {}, ()),
          "exchange": (exchanged, 0.3, {}, ("--repair-rate", "16M")),
          "dead": (ssd_died, 0.5, {}, ("--spare-after", "1")),
          "blank": (ssd_blank, 0.3, {}, ()),
          "silent": (ssd_silent, 0.3, {}, ()),
          "fence": (killed_beside_silent, 0.3, {}, ()),
          "repair": (repair_killed, 0.3, {}, ()),
          "kernel": (kernel_beside, 0.5, {}, ()),
          "hang": (target_stopped, 0.3, {}, ()),
          "default": (target_stopped, 0.3, {"keep_alive_ms": 0}, ()),
          "upgrade": (upgraded, 0.3, {}, ()),
          "asleep": (manager_asleep, 0.3, {}, ("--lease", "3")),
          "given_up": (target_given_up, 0.3, {}, ()),
          "stopped": (client_stopped, 1, {"keep_alive_ms": 500}, ()),
          "cut": (client_cut_off, 0.3, {"keep_alive_ms": 500}, ()),
          "self": (former_self, 0.3, {"keep_alive_ms": 500}, ()),
          "lease": (lease_over, 0.3, {}, ("--lease", "1")),
          "daemon": (daemon_killed, 1, {}, ())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int,
                        default=4 if os.environ.get("GNSTOR_QUICK") == "1" else 10)
    parser.add_argument("--only", choices=FAULTS)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("GNSTOR_SEED", "0"))
                        or random.randrange(1 << 30))
    parser.add_argument("--elsewhere", action="store_true",
                        help="the array's manager is a process of its own")
    parser.add_argument("--former", metavar="BUILD",
                        help="programs of a former version, which take turns with these (upgrade)")
    given = parser.parse_args()
    print("GNSTOR_SEED =", given.seed)
    programs = rig.Programs(given.build)

    def test(folder):
        for name, (fault, share, of_hosts, of_target) in FAULTS.items():
            if given.only not in (None, name) or rig.failures:
                continue
            if name == "daemon" and not given.elsewhere:
                continue
            begin = time.monotonic()
            (folder / name).mkdir()
            kind = rig.ManagedElsewhere if given.elsewhere else rig.Target
            has_spares = name in ("dead", "exchange")
            how = {"array": SPARES} if has_spares else {}
            if name in ("silent", "fence"):
                how["ssd_timeout"] = 300 if STRICT else 1000  # the default
            target = kind(programs, folder / name, more=of_target, **how)
            if given.former:  # which may not know that option
                del target.arguments[(at := target.arguments.index("--faults")):at + 2]
            target.start()
            for ssd in ("5", "4") if has_spares else ():  # before there is a volume
                code, said = target.gnstorctl("ssd", "add", ssd, "--spare")
                rig.check(code == 0, "gnstorctl ssd add --spare", ssd, said)
            hosts = Hosts(programs, target, folder / name, **of_hosts)
            hosts.former = rig.Programs(given.former) if given.former else None
            fault(hosts, random.Random(f"{given.seed} {name}"), max(1, int(given.rounds * share)))
            rig.check(target.end() == 0, "gnstor-target ends in order")
            print(f"  {name}: {time.monotonic() - begin:.1f} s, {hosts.lines()} lines of log",
                  flush=True)
            if rig.failures:
                print(target.said()[-3000:])

    return rig.run(test)


if __name__ == "__main__":
    sys.exit(main())
