#!/usr/bin/env python3
"""gnstord and gnstorctl as real processes: volumes by name, failed SSDs, kills, bad input.

Usage: control.py GNSTORD GNSTORCTL [--kills N]
"""

import argparse
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
failures = 0


def check(right, what, *words):
    """Notes what is wrong."""
    global failures
    if right:
        return
    failures += 1
    print("FAILED:", what, *words)


class Daemon:
    """A gnstord over SSDs in a folder."""

    def __init__(self, program, control, folder, options="ssds=4&capacity=64M"):
        self.program, self.control, self.folder, self.options = program, control, folder, options
        self.process = None

    def start(self, *more):
        self.process = subprocess.Popen(
            [self.program, "--listen", "127.0.0.1:0", "--quiet", "--ssd-timeout", "20000",
             "--array", f"emu:?{self.options}&flash={self.folder}", *more],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if line.startswith("metrics "):
            self.metrics_url = line.split()[1]
            line = self.process.stdout.readline()
        found = re.match(r"ready (127\.0\.0\.1:\d+): ", line)
        if not found:
            raise SystemExit(f"gnstord did not start: {line}{self.process.stderr.read()}")
        self.address = found[1]
        return self

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.communicate()
        return self.process.returncode

    def __call__(self, *words, given="", plain=False):
        """Runs gnstorctl: exit code, stdout, stderr."""
        env = {**os.environ, "GNSTOR_SERVER": self.address}
        done = subprocess.run([self.control, *words], input=given, env=env, text=True,
                              capture_output=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    def right(self, *words, **how):
        code, out, err = self(*words, **how)
        check(code == 0, "gnstorctl", *words, "ended with", code, out, err)
        return out

    def wrong(self, code, expected, *words, **how):
        got, out, err = self(*words, **how)
        check(got == code and expected in err, "gnstorctl", *words, "ended with", got, "and said",
              err, "instead of", code, expected)

    def array(self):
        return json.loads(self.right("--format", "json", "array", "show"))

    def names(self):
        lines = self.right("--format", "json", "volume", "list").splitlines()
        return {json.loads(line)["name"] for line in lines}

    def until(self, holds, what):
        for _ in range(200):
            if holds(self.array()):
                return
            time.sleep(0.05)
        check(False, what, "not within 10 s:", json.dumps(self.array()))


def volumes(array):
    array.right("volume", "create", "edges", "--size", "4M", "--labels", "team=graphs")
    array.wrong(1, "another volume has this name", "volume", "create", "edges", "--size", "1M")
    array.wrong(1, "is a number", "volume", "create", "12", "--size", "1M")
    array.wrong(1, "65 bytes", "volume", "create", "x" * 65, "--size", "1M")
    array.wrong(1, "no bytes", "volume", "create", "nothing", "--size", "0")
    array.wrong(1, "are left", "volume", "create", "huge", "--size", "1T")
    array.wrong(1, "9 replicas on 4 SSDs", "volume", "create", "wide", "--size", "1M",
                "--replicas", "9")
    array.wrong(1, "no volume is called", "volume", "show", "vertices")
    array.wrong(1, "there is no volume 77", "volume", "show", "77")
    array.wrong(1, "ids are 1 to 65535", "volume", "show", "700000")
    array.right("volume", "rename", "edges", "vertices")
    check("vertices" in array.right("volume", "list"), "a renamed volume is listed")
    array.right("volume", "label", "vertices", "tier=hot")
    check("6 MiB" in array.right("volume", "grow", "vertices", "--size", "6M"), "a volume grows")
    array.wrong(1, "no volume shrinks", "volume", "grow", "vertices", "--size", "1M")
    check("no traffic" in array.right("volume", "traffic"), "nobody is served")
    shown = json.loads(array.right("--format", "json", "volume", "show", "vertices"))
    check(shown["bytes"] == str(6 << 20) and shown["labels"] == "tier=hot", shown)
    array.right("volume", "share", "vertices", "trainer-1")
    check(len(json.loads(array.right("--format", "json", "volume", "show", "1"))["clients"]) == 2,
          "a shared volume has one client more")
    array.right("volume", "unshare", "vertices", "trainer-1")
    array.wrong(1, "not deleted", "volume", "delete", "vertices", given="edges\n")
    array.wrong(1, "not deleted", "volume", "delete", "vertices", given="")
    array.right("volume", "delete", "vertices", given="vertices\n")
    check(array.names() == set(), "no volume is left")


def completion(array):
    """What a shell offers, by itself and through bash."""
    array.right("volume", "create", "two words", "--size", "1M")
    array.right("volume", "create", "edges", "--size", "1M")

    def offers(*words):
        return array.right("complete", *words).split("\n")[:-1]
    check(offers("") == ["array", "ssd", "volume", "lease", "host", "local", "completion"],
          "verbs", offers(""))
    check(offers("volume", "sh") == ["show", "share"], "begun verbs", offers("volume", "sh"))
    check(offers("--format", "json", "lease", "") == ["list", "revoke"], "behind options")
    check(offers("--fo") == ["--format"], "options", offers("--fo"))
    check("--replicas" in offers("volume", "create", "x", "--"), "a verb's own options")
    check("--format" in offers("volume", "create", "x", "--"), "and the program's")
    check(offers("--format", "") == [], "nothing for a value")
    check(offers("volume", "show", "") == ["two\\ words", "edges"], offers("volume", "show", ""))
    check(offers("volume", "share", "e") == ["edges"], "a name that is begun")
    check(offers("volume", "share", "edges", "") == [], "hosts are not known")
    check(offers("ssd", "replace", "") == ["0", "1", "2", "3"], "SSDs")
    check(offers("--server", "127.0.0.1:1", "volume", "show", "") == [], "no daemon, no names")
    script = array.right("completion", "bash")
    check("bashcompinit" in array.right("completion", "zsh"), "a script for zsh")
    array.wrong(105, "fish", "completion", "fish")
    typed = script + "COMP_WORDS=(gnstorctl volume show t); COMP_CWORD=3; _gnstorctl; " \
        'printf "%s|" "${COMPREPLY[@]}"'
    path = os.path.dirname(array.control) + ":" + os.environ["PATH"]
    shell = subprocess.run(["bash", "-c", typed], capture_output=True, text=True, check=False,
                           env={**os.environ, "PATH": path, "GNSTOR_SERVER": array.address})
    check(shell.stdout == "two\\ words|", "bash completes a name", shell)
    array.right("volume", "delete", "two words", "--yes")
    array.right("volume", "delete", "edges", "--yes")


def ssds(array):
    array.right("volume", "create", "data", "--size", "16M")
    array.right("array", "health")
    array.wrong(1, "the array has 4", "ssd", "detach", "4")
    array.wrong(1, "takes part", "ssd", "replace", "2")
    check("absent" in array.right("ssd", "detach", "2"), "a detached SSD is absent")
    array.wrong(1, "on no SSD that is in sync", "ssd", "detach", "1")
    check("degraded" in array.right("volume", "show", "data"), "a volume lacks replicas")
    code, out, _ = array("array", "health")
    check(code == 3 and "gnstorctl ssd replace 2" in out, "health names the remedy", code, out)
    array.right("ssd", "replace", "2")
    array.until(lambda a: a["ssds"][2]["state"] == "STATE_IN_SYNC", "SSD 2 in sync")
    array.right("array", "health")
    events = array.right("array", "events")
    for words in ("SSD 2 is absent", "SSD 2 is being filled", "SSD 2 is in sync again"):
        check(words in events, "an event says that", words)
    check("out for" in array.right("ssd", "maintain", "2", "--for", "600"), "an SSD is out")
    array.wrong(1, "on no SSD that is in sync", "ssd", "maintain", "1", "--for", "600")
    code, out, _ = array("array", "health")
    check(code == 3 and "planned work" in out, "health says that it is planned", code, out)
    array.right("ssd", "replace", "2")
    array.until(lambda a: a["ssds"][2]["state"] == "STATE_IN_SYNC", "SSD 2 in sync")
    check("SSD 2 has 1 volumes as it left them" in array.right("array", "events"),
          "what nobody has written needs no fill")
    array.right("volume", "delete", "data", "--yes")


def drains(array):
    """An SSD is emptied, taken away, and comes back to its share."""
    array.right("volume", "create", "data", "--size", "16M")
    array.right("volume", "create", "safe", "--size", "1M", "--replicas", "4")
    array.wrong(1, "can leave its last one only", "ssd", "drain", "1")
    array.wrong(1, "has 4 replicas", "ssd", "drain", "3")
    array.right("volume", "delete", "safe", "--yes")
    array.wrong(1, "the array has 4", "ssd", "drain", "4")
    array.wrong(1, "neither being drained", "ssd", "drain", "3", "--cancel")
    check("drain" in array.right("ssd", "drain", "3"), "the list says what goes on")
    array.until(lambda a: a["ssds"][3]["volumes"] == 0 and a["settled"], "SSD 3 drained")
    check("drained: detach it" in array.right("ssd", "list"), "the list says that it is empty")
    check(volume(array, "data")["ssds"] == 3, "the volume lies on the others")
    array.wrong(1, "4 replicas on 3 SSDs", "volume", "create", "x", "--size", "1M", "--replicas",
                "4")
    array.right("volume", "create", "narrow", "--size", "1M")
    array.right("array", "health")
    array.right("ssd", "detach", "3")
    array.until(lambda a: a["settled"], "an epoch without it")
    array.right("array", "health")  # nobody misses it
    check(not volume(array, "data")["degraded"], "no replica is missing")
    check("SSD 3 is empty" in array.right("array", "events"), "an event says so")
    array.stop()
    array.start()
    array.until(lambda a: a["settled"], "taken over")
    array.right("array", "health")  # nor after a restart
    array.right("volume", "create", "later", "--size", "1M")
    check(volume(array, "later")["ssds"] == 3, "a new volume does without it")
    array.right("ssd", "add", "3")
    array.until(lambda a: a["ssds"][3]["volumes"] == 3, "SSD 3 has its share")
    array.until(lambda a: a["ssds"][3]["aim"] == "AIM_NONE", "and nothing more to do")
    check(volume(array, "data")["ssds"] == 4, "the volume lies on all")
    for name in array.names():
        array.right("volume", "delete", name, "--yes")


def exchanges(program, control, folder):
    """SSDs are exchanged for spares, and what is out for planned work survives a restart."""
    array = Daemon(program, control, folder, "ssds=6&capacity=64M").start()
    array.wrong(1, "over SSD 5 behind it", "ssd", "add", "4", "--spare")
    check("stands by" in array.right("ssd", "add", "5", "--spare"), "a spare stands by")
    array.right("ssd", "add", "4", "--spare")
    array.right("volume", "create", "data", "--size", "16M")
    check(volume(array, "data")["ssds"] == 4, "no volume lies on a spare")
    array.right("array", "health")
    array.wrong(1, "volumes lie on it", "ssd", "add", "3", "--spare")
    array.wrong(1, "volumes lie on SSD 3", "ssd", "replace", "1", "--with", "3")
    array.wrong(1, "the array has 6", "ssd", "replace", "1", "--with", "6")
    check("SSD 4" in array.right("ssd", "drain", "1"), "the list says who follows")

    def served(a, place, ssd):
        return (a["settled"] and a["ssds"][place]["state"] == "STATE_ABSENT"
                and a["ssds"][ssd]["state"] == "STATE_IN_SYNC"
                and a["ssds"][ssd].get("stands_in_for") == place)
    array.until(lambda a: served(a, 1, 4), "SSD 4 serves for SSD 1")
    said = array.right("ssd", "list")
    check("may be pulled" in said and "serves for SSD 1" in said, "the list says so", said)
    check("SSD 1 has left" in array.right("array", "events"), "an event says so")
    array.right("array", "health")  # nobody misses it
    array.wrong(1, "it is absent", "ssd", "drain", "1")
    array.stop()
    array.start("--spare-after", "1")
    array.until(lambda a: served(a, 1, 4), "the next manager finds it so")
    check("stands by" in array.right("ssd", "list"), "SSD 5 is a spare still")
    array.right("array", "health")

    array.right("ssd", "maintain", "2", "--for", "600")
    array.stop()
    array.start("--spare-after", "1")
    array.until(lambda a: a["settled"], "taken over")
    check("out for" in array.right("ssd", "list"), "an SSD is out still")
    array.right("ssd", "replace", "2")
    array.until(lambda a: a["ssds"][2]["state"] == "STATE_IN_SYNC", "SSD 2 in sync")
    check("SSD 2 has 1 volumes as it left them" in array.right("array", "events"),
          "the next manager knows what it had", array.right("array", "events"))

    array.right("ssd", "detach", "0")
    array.until(lambda a: served(a, 0, 5), "a spare serves for an SSD that has failed")
    array.wrong(1, "can leave its last one only", "ssd", "drain", "2")
    for place, ssd in ((1, 4), (0, 5)):
        array.right("ssd", "replace", str(place))
        array.until(lambda a, place=place, ssd=ssd: a["settled"]
                    and a["ssds"][place]["state"] == "STATE_IN_SYNC"
                    and a["ssds"][ssd]["state"] == "STATE_ABSENT", f"SSD {place} is back")
    array.right("array", "health")
    said = array.right("ssd", "list")
    check(said.count("stands by") == 2, "both are spares again", said,
          array.right("array", "events"))
    array.right("ssd", "add", "5", "--cancel")
    check(array.stop() == 0, "it ends in order")


def hosts(array):
    array.right("volume", "create", "edges", "--size", "1M", "--owner", "old-host")
    array.right("volume", "create", "data", "--size", "1M")
    array.wrong(1, "no volume is called", "host", "add", "old-host", "--volumes", "data", "nothing")
    check(len(volume(array, "data")["clients"]) == 1, "all, or none", volume(array, "data"))
    said = json.loads(array.right("--format", "json", "host", "add", "old-host", "--volumes",
                                  "data", "edges"))
    check(said["nqn"].endswith(":old-host") and len(said["volumes"]) == 2, "who may open", said)
    check(len(volume(array, "data")["clients"]) == 2, "it may", volume(array, "data"))
    array.wrong(1, "it owns", "host", "remove", "old-host")
    check(len(volume(array, "data")["clients"]) == 2, "nothing was taken", volume(array, "data"))
    array.wrong(1, "own heir", "host", "remove", "old-host", "--heir", "old-host")
    owner = volume(array, "edges")["owner"]
    said = array.right("host", "remove", "old-host", "--heir", "new-host")
    check("rights to 2 volumes" in said and "edges" in said, "what was taken is said", said)
    for name, clients in (("data", 1), ("edges", 2)):  # the manager's own right is one of them
        left = volume(array, name)["clients"]
        check(len(left) == clients, name, "has clients", left)
    check(volume(array, "edges")["owner"] != owner, "the heir owns what the host did")
    check("rights to 0" in array.right("host", "remove", "old-host"), "it has none any more")
    array.right("volume", "delete", "edges", "--yes")
    array.right("volume", "delete", "data", "--yes")


def volume(array, name):
    return json.loads(array.right("--format", "json", "volume", "show", name))


def leaves(array, *words):
    """The verbs at the ends, with the example of each."""
    _, out, _ = array(*words, "--help")
    found = re.search(r"^(?:Sub)?[Cc]ommands:\n((?:  .*\n?)+)", out, re.M)
    if not found:
        example = re.search(r"Example:\n\s+gnstorctl (.*)", out)
        check(example, *words, "has no example")
        yield words, example[1].split() if example else []
        return
    for line in found[1].splitlines():
        if re.match(r"  \w", line):
            yield from leaves(array, *words, line.split()[0])


# Verbs after whose examples an SSD is out.
OUT = (("ssd", "detach"), ("ssd", "maintain"))


def examples(array):
    count = 0
    for words, example in leaves(array):
        count += 1
        check(tuple(example[:len(words)]) == words, "the example of", *words, "is of", *example)
        if words == ("volume", "create"):
            array("volume", "delete", "edges", "--yes")
        else:
            array("volume", "create", "edges", "--size", "1M")
        array("volume", "delete", "old-edges", "--yes")
        if words == ("ssd", "replace"):
            array.right("ssd", "detach", "2")
        if words == ("ssd", "add"):
            array.until(lambda a: a["ssds"][3]["volumes_left"] == 0, "the drain before it")
        if words == ("volume", "spread"):
            code, _, err = array(*example)  # it is spread over all already
            check(code == 0, *example, err)
        elif words in (("local", "bind"), ("local", "release")):  # no disk of this machine is taken
            array.wrong(1, "there is no such PCI function", *words, "fffe:ff:1f.7")
        elif words == ("local", "clients"):
            array.wrong(1, "start gnstor-homid", *words, "/nowhere/homi")
        else:
            array.right(*example)
        array.until(lambda a: all(s["state"] == "STATE_IN_SYNC" for s in a["ssds"])
                    or words in OUT, "all SSDs in sync")
        if words in OUT:
            array.right("ssd", "replace", "2")
            array.until(lambda a: a["ssds"][2]["state"] == "STATE_IN_SYNC", "SSD 2 in sync")
    check(count >= 20, "only", count, "verbs were found")
    for name in array.names():
        array.right("volume", "delete", name, "--yes")


def supervised(program, control):
    """What a supervisor hears, with all options in a file."""
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "gnstord.toml"
        config.write_text(f'# ours\nlisten = "unix:{folder}/socket"\narray = "emu:?capacity=16M"\n'
                          'ssd-timeout = 20000\nquiet = true\n')
        ears = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        ears.bind(folder + "/notify")
        ears.settimeout(20)
        process = subprocess.Popen([program, "--config", str(config)], stdout=subprocess.DEVNULL,
                                   env={**os.environ, "NOTIFY_SOCKET": folder + "/notify"})
        check(ears.recv(4096).startswith(b"READY=1"), "a supervisor hears that it is ready")
        check(os.stat(folder + "/socket").st_mode & 0o777 == 0o600, "the socket is ours alone")
        second = subprocess.run([program, "--listen", f"unix:{folder}/socket"], text=True,
                                capture_output=True, timeout=20, check=False)
        check(second.returncode == 1 and "another process answers" in second.stderr,
              "a second daemon at one socket", second.stderr)
        watched = subprocess.run([control, "--server", f"unix:{folder}/socket", "--watch", "0.05",
                                  "--times", "3", "array", "health"], text=True,
                                 capture_output=True, timeout=20, check=False)
        check(watched.returncode == 0 and watched.stdout == 3 * "healthy\n", "--watch",
              watched.stdout, watched.stderr)
        process.terminate()
        check(ears.recv(4096) == b"STOPPING=1", "a supervisor hears that it stops")
        check(process.wait(20) == 0, "it ends in order")


def certificates(program, control):
    """Who may do what over TLS, and who is not let in."""
    script = pathlib.Path(__file__).resolve().parents[2] / "scripts/test_ca"

    def make(folder, *words, days="365"):
        subprocess.run([script, folder, *words], check=True, env={**os.environ, "DAYS": days})

    def files(name, folder, authority=None):
        return ["--tls-cert", f"{folder}/{name}.pem", "--tls-key", f"{folder}/{name}.key",
                "--tls-ca", f"{authority or folder}/ca.pem"]

    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as flash:
        ours, others = folder + "/ours", folder + "/others"
        make(ours, "me=admin:me", "one=host:one", "two=host:two", "none=somebody", "empty=host:")
        make(ours, "late=admin:late", days="-1")
        make(others, "me=admin:me")
        array = Daemon(program, control, flash).start(*files("server", ours))

        def by(name, *words, folder=ours, authority=ours):
            return array(*files(name, folder, authority), *words)

        def right(name, *words):
            code, out, err = by(name, *words)
            check(code == 0, name, *words, "ended with", code, err)
            return out

        def wrong(expected, name, *words, **where):
            code, _, err = by(name, *words, **where)
            check(code == 1 and expected in err, name, *words, "ended with", code, err)

        right("me", "volume", "create", "edges", "--size", "1M", "--owner", "one")
        right("me", "volume", "create", "secret", "--size", "1M")
        check("secret" not in right("one", "volume", "list"), "a host sees what is its own")
        check(right("two", "volume", "list") == "no volumes\n", "and nobody else's")
        for words in (["volume", "show", "edges"], ["volume", "delete", "edges", "--yes"],
                      ["volume", "rename", "edges", "mine"], ["volume", "share", "edges", "two"],
                      ["volume", "scrub", "edges"], ["volume", "label", "edges", "a=b"],
                      ["volume", "unshare", "edges", "one"]):
            wrong("own it" if words[1] != "show" else "not shared with", "two", *words)
        wrong("may not act for", "two", "lease", "revoke", "edges", "one")
        wrong("may not act for", "two", "volume", "create", "x", "--size", "1M", "--owner", "one")
        for words in (["ssd", "detach", "0"], ["ssd", "replace", "0"], ["array", "events"],
                      ["volume", "spread", "edges"], ["ssd", "drain", "3"], ["ssd", "add", "3"],
                      ["host", "add", "two", "--volumes", "edges"]):
            wrong("is no administrator", "one", *words)
        right("one", "volume", "share", "edges", "two")
        right("two", "volume", "show", "edges")
        wrong("own it", "two", "volume", "delete", "edges", "--yes")
        right("two", "volume", "create", "mine", "--size", "1M")
        right("two", "volume", "delete", "mine", "--yes")
        right("one", "array", "health")
        wrong("gives no role", "none", "array", "show")
        wrong("gives no role", "empty", "array", "show")
        wrong("late.pem\": this certificate has expired", "late", "array", "show")
        wrong("does not believe this certificate", "me", "array", "show", folder=others)
        wrong("others/ca.pem\" has not signed its certificate", "me", "array", "show",
              authority=others)
        array.wrong(1, "wants TLS", "array", "show")
        array.wrong(1, "needs all of", "--tls-ca", f"{ours}/ca.pem", "array", "show")
        array.wrong(1, "not a file in PEM", *files("nobody", ours), "array", "show")
        check(array.stop() == 0, "it ends in order")
        with tempfile.TemporaryDirectory() as more:
            plain = Daemon(program, control, more).start()
            plain.wrong(1, "speaks no TLS", *files("me", ours), "array", "show")
            check(plain.stop() == 0, "it ends in order")

        def refused(expected, *words):
            done = subprocess.run([program, "--listen", "127.0.0.1:0", *words], text=True,
                                  capture_output=True, timeout=30, check=False)
            check(done.returncode == 1 and expected in done.stderr, *words, done.stderr)

        refused("not a file in PEM", *files("nobody", ours))
        refused("has expired", *files("late", ours))
        refused("needs all of", "--tls-key", f"{ours}/me.key")
        refused("is not the certificate's", "--tls-cert", f"{ours}/me.pem", "--tls-key",
                f"{ours}/one.key", "--tls-ca", f"{ours}/ca.pem")


def page(program, control):
    """The ten commands of docs/operating.md, as they stand there."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs/operating.md").read_text()
    lines = re.search(r"<!-- ten commands -->\n```sh\n(.*?)```", text, re.S)[1].splitlines()
    check(len(lines) == 10, "ten commands are", len(lines))
    with tempfile.TemporaryDirectory() as folder:
        script = [f"cd {folder}", f"export GNSTOR_SERVER=unix:{folder}/socket",
                  f'gnstord() {{ exec {program} --quiet --ssd-timeout 20000 '
                  f'--listen "$GNSTOR_SERVER" "$@"; }}',
                  f'gnstorctl() {{ {control} "$@"; }}']
        for line in lines:
            script += [line, "echo ENDED $?"]
            if "ssd replace" in line:
                script.append("for k in $(seq 100); do gnstorctl array health > last && break; "
                              "sleep 0.1; done; cat last")
        script.append("kill %1; wait %1; echo ENDED $?")
        done = subprocess.run(["bash", "-c", "\n".join(script)], text=True, capture_output=True,
                              timeout=120, check=False)
    codes = [int(code) for code in re.findall(r"^ENDED (\d+)$", done.stdout, re.M)]
    wanted = [3 if "array health" in line else 0 for line in lines] + [0]
    check(codes == wanted, "the page's commands ended with", codes, done.stdout, done.stderr)
    check("\nhealthy\n" in done.stdout, "the array is healthy again", done.stdout)
    check("SSD 2 is in sync again" in done.stdout, "events tell it", done.stdout)


def kills(array, times, seed):
    """The daemon is killed in the middle: what was acknowledged is as it was said to be."""
    draw = random.Random(seed)
    there, gone, counter = set(), set(), 0
    rules = array.right("array", "events").count("took over the array")
    for k in range(times):
        end = threading.Timer(draw.uniform(0.05, 0.4), array.process.kill)
        end.start()
        while array.process.poll() is None:
            counter += 1
            if there and draw.random() < 0.4:
                name = draw.choice(sorted(there))
                there.discard(name)
                if array("volume", "delete", name, "--yes")[0] == 0:
                    gone.add(name)
            else:
                name = f"v{counter}"
                if array("volume", "create", name, "--size", "64K")[0] == 0:
                    there.add(name)
        array.process.communicate()
        array.start()
        array.until(lambda a: a["settled"], "settled")
        begun = array.right("array", "events").count("took over the array")
        check(begun == rules + k + 1, "events are lost by a kill:", begun, "of", rules + k + 1)
        names = array.names()
        check(there <= names, "volumes are lost:", there - names)
        check(not gone & names, "volumes are there again:", gone & names)
        check(not any(s["state"] != "STATE_IN_SYNC" for s in array.array()["ssds"]),
              "an SSD failed by a kill", json.dumps(array.array()))
    print(f"{counter} requests, {times} kills, {len(there)} volumes left, {len(gone)} deleted")


def metrics(program, control, folder):
    """What Prometheus hears is what the manager says, and what the dashboard asks for is there."""
    done = subprocess.run([program, "--metrics", "nowhere"], text=True, capture_output=True,
                          timeout=30, check=False)
    if "no prometheus-cpp" in done.stderr:
        print("no prometheus-cpp here: metrics are not looked at")
        return
    check(done.returncode == 1 and "HOST:PORT" in done.stderr, "a bad address of metrics",
          done.stderr)
    array = Daemon(program, control, folder).start("--metrics", "127.0.0.1:0")
    array.right("volume", "create", 'odd "name"', "--size", "1M", "--owner", "trainer-1")
    array.right("ssd", "detach", "2")
    array.right("volume", "scrub", "1")
    check(array("volume", "show", "7")[0] == 1, "there is no volume 7")

    def asked():
        with urllib.request.urlopen(array.metrics_url, timeout=10) as answer:
            text = answer.read().decode()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
                for line in text.splitlines() if line.startswith("gnstor_")}

    found = asked()
    until = time.monotonic() + 20
    said = array.array()
    while time.monotonic() < until and (
            found.get("gnstor_scrub_volumes_total") != 1 or
            found.get('gnstor_ssd_epoch{ssd="3"}') != said["epoch"] or
            not any(name.startswith("gnstor_volume_used_bytes") for name in found)):
        time.sleep(0.05)
        found, said = asked(), array.array()
    for name, value in [("gnstor_array_epoch", said["epoch"]), ("gnstor_volumes", 1),
                        ("gnstor_array_capacity_bytes", int(said["capacity_bytes"])),
                        ("gnstor_array_provisioned_bytes", int(said["provisioned_bytes"])),
                        ("gnstor_volumes_degraded", 1), ("gnstor_volumes_torn", 0),
                        ('gnstor_ssd_state{ssd="2",state="absent"}', 1),
                        ('gnstor_ssd_state{ssd="2",state="in_sync"}', 0),
                        ('gnstor_ssd_state{ssd="1",state="in_sync"}', 1),
                        ('gnstor_ssd_up{ssd="3"}', 1), ('gnstor_ssd_erases_total{ssd="3"}', 0),
                        ('gnstor_ssd_epoch{ssd="3"}', said["epoch"]),
                        ('gnstor_ssd_reports_total{ssd="3"}', 0),
                        ('gnstor_ssd_erase_block_erases{ssd="0",of="most"}', 0),
                        ("gnstor_scrub_volumes_total", 1), ("gnstor_scrub_lost_blocks_total", 0),
                        ('gnstor_rpcs_total{method="CreateVolume",code="OK"}', 1),
                        ('gnstor_rpcs_total{method="ShowVolume",code="NOT_FOUND"}', 1),
                        ('gnstor_volume_used_bytes{volume="1",name="odd \\"name\\""}', 0),
                        ('gnstor_volume_bytes{volume="1",name="odd \\"name\\""}', 1 << 20)]:
        check(found.get(name) == value, "metric", name, found.get(name), "not", value)
    known = {name.partition("{")[0] for name in found}
    wanted = set(re.findall(r"gnstor_\w+", (ROOT / "tools/gnstord/grafana.json").read_text()))
    sometimes = {name for name in wanted if name.startswith(("gnstor_repair_", "gnstor_volume_"))}
    check(wanted - sometimes <= known, "the dashboard asks for", wanted - sometimes - known)
    source = "".join(f.read_text() for f in (ROOT / "serve/metrics").glob("*.cpp"))
    for name in sometimes:  # where there are some
        family = re.sub("_(bucket|sum|count)$", "", name)
        check(f'"{family.removeprefix("gnstor_")}"' in source or f'"{family}"' in source,
              "the dashboard asks for", name)
    check(array.stop() == 0, "it ends in order")


def bad_input(program, control, folder):
    def says(words, expected, binary=program):
        done = subprocess.run([binary, *words], text=True, capture_output=True, timeout=30,
                              check=False)
        check(done.returncode != 0 and expected in done.stdout + done.stderr, binary, *words,
              "said", done.stdout + done.stderr)

    says(["--listen", "0.0.0.0:4422"], "not encrypted")
    says(["--listen", "here"], "HOST:PORT")
    says(["--array", "rdma://host/nqn"], "--manager-secret FILE")
    says(["--manager-secret", "x"], "a target serves")
    says(["--etcd", "x:1"], "a target serves")
    says(["--array", "emu:?runner=sim"], "runner=sim")
    says(["--lease", "0"], "--lease")
    says(["--journal", f"{folder}/j"], "ends with its manager")
    says(["--journal", "/dev/null/j", "--array", f"emu:?ssds=4&flash={folder}"], "--journal")
    says(["--server", "127.0.0.1:1", "array", "show"], "no daemon answers", control)
    says(["volume"], "subcommand", control)
    foreign = pathlib.Path(folder) / "manager.journal"
    foreign.write_text("mine\n")
    with_one = Daemon(program, control, folder).start()
    check("took over the array" in with_one.right("array", "events"), "a manager without a journal")
    with_one.process.send_signal(signal.SIGTERM)
    _, said = with_one.process.communicate()
    check("is no journal of a manager" in said, "why nothing is kept", said)
    check(foreign.read_text() == "mine\n", "somebody's file", foreign.read_text())
    foreign.unlink()
    with_one = Daemon(program, control, folder).start()
    says(["--listen", with_one.address], "in use")
    says(["--listen", "127.0.0.1:0", "--array", f"emu:?ssds=4&capacity=64M&flash={folder}"],
         "another process uses it")
    config = pathlib.Path(folder) / "gnstord.toml"
    config.write_text("lease = 0\n")
    says(["--config", str(config)], "lease")
    config.write_text("leese = 7\n")
    says(["--config", str(config)], "leese")
    says(["--config", folder + "/none"], "none")
    check(with_one.stop() == 0, "a daemon that is asked to end does, in order")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("daemon")
    parser.add_argument("control")
    parser.add_argument("--kills", type=int,
                        default=3 if os.environ.get("GNSTOR_QUICK") == "1" else 10)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("GNSTOR_SEED", "0"))
                        or random.randrange(1 << 30))
    given = parser.parse_args()
    given.daemon, given.control = map(os.path.abspath, (given.daemon, given.control))
    print("GNSTOR_SEED =", given.seed)
    with tempfile.TemporaryDirectory() as folder:
        array = Daemon(given.daemon, given.control, folder).start()
        volumes(array)
        completion(array)
        ssds(array)
        drains(array)
        hosts(array)
        examples(array)
        kills(array, given.kills, given.seed)
        check(array.stop() == 0, "it ends in order")
    with tempfile.TemporaryDirectory() as folder:
        exchanges(given.daemon, given.control, folder)
    with tempfile.TemporaryDirectory() as folder:
        page(given.daemon, given.control)
        supervised(given.daemon, given.control)
        certificates(given.daemon, given.control)
        bad_input(given.daemon, given.control, str(pathlib.Path(folder)))
    with tempfile.TemporaryDirectory() as folder:
        metrics(given.daemon, given.control, folder)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
