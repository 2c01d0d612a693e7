"""Real NBD clients, which others wrote, on volumes that nbdkit exports by our plugin.

usage: clients.py PLUGIN [GNSTOR_HOMID GNSTOR_PERF]
"""
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

PLUGIN = os.path.abspath(sys.argv[1])
HOMID, PERF = [os.path.abspath(tool) for tool in sys.argv[2:4]] or (None, None)
MIB = 1 << 20
SIZE = 48 * MIB
ARRAY = "emu:?ssds=4&capacity=64M&replicas=2&flash={}"
# Package of each command.
NEEDED = {"nbdkit": "nbdkit", "nbdinfo": "libnbd-bin", "nbdcopy": "libnbd-bin",
          "qemu-img": "qemu-utils", "qemu-io": "qemu-utils", "fio": "fio"}


def say(text):
    print(text, flush=True)


def run(*command, ok=(0,), **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **more)
    if done.returncode not in ok:
        raise AssertionError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n"
                             f"{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def has_libnbd():
    try:
        import nbd  # noqa: F401
        return True
    except ImportError:
        return False


def check(holds, what):
    if not holds:
        raise AssertionError(what)
    say(f"  {what}")


@contextlib.contextmanager
def server(folder, *words, threads=16):
    """nbdkit with the plugin, until the end of the block; yields a URI, and ends it in order."""
    at = f"{folder}/socket"
    process = subprocess.Popen(
        ["nbdkit", "-f", "-P", f"{folder}/pid", "-U", at, "--threads", str(threads), "--filter=log",
         PLUGIN, *words, f"logfile={folder}/requests"],
        stderr=open(f"{folder}/server", "ab"))
    try:
        for _ in range(400):
            if os.path.exists(at) or process.poll() is not None:
                break
            time.sleep(0.05)
        check_alive(process, folder)
        yield f"nbd+unix:///?socket={at}"
        check_alive(process, folder)
        process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=30)
        if code != 0:
            raise AssertionError(f"nbdkit ended with {code}\n{said(folder)}")
    finally:
        process.kill()
        process.wait()
        pathlib.Path(at).unlink(missing_ok=True)


def said(folder):
    return pathlib.Path(f"{folder}/server").read_text()


def check_alive(process, folder):
    if process.poll() is not None:
        raise AssertionError(f"nbdkit has ended with {process.returncode}\n{said(folder)}")


def array_words(folder, *more):
    return [f"endpoint={ARRAY.format(folder + '/flash')}", *more]


def refused(folder, *words):
    """What the plugin says to bad arguments; nothing has been opened or made then."""
    done = subprocess.run(["nbdkit", "-f", "-U", f"{folder}/never", PLUGIN, *words],
                          capture_output=True, text=True, timeout=30)
    if done.returncode == 0:
        raise AssertionError(f"{words} was taken")
    if os.listdir(f"{folder}/flash"):
        raise AssertionError(f"{words} made files")
    return done.stderr


def test_arguments(folder):
    os.mkdir(f"{folder}/flash")
    e = array_words(folder)[0]
    check("endpoint= is missing" in refused(folder, "volume=x"), "an endpoint is asked for")
    check("there is no such parameter" in refused(folder, e, "colour=red"),
          "an unknown parameter is refused, with those that there are")
    check("say a size" in refused(folder, e, "volume=x", "create=big"), "a size is a size")
    check("give it a name" in refused(folder, e, "create=1M"), "what is created has a name")
    check("a new volume holds nothing" in refused(folder, e, "volume=x", "create=1M",
                                                  "readonly=yes"),
          "nothing is created to be read alone")
    check("option 'x' is unknown" in refused(folder, "endpoint=emu:?x=1"),
          "an unknown option of the endpoint is named")
    check("runner=cpu" in refused(folder, e + "&runner=sim"), "a simulated array is refused")
    check("1 to 3600 seconds" in refused(folder, e, "timeout=0"), "a timeout has a range")
    check("control" in refused(folder, e, "volume=a\tb"), "a name is a name")


def test_copies(folder):
    os.mkdir(f"{folder}/flash")
    image = f"{folder}/image"
    random.seed(1)
    with open(image, "wb") as f:
        f.write(random.randbytes(20 * MIB))
        f.truncate(SIZE)
    with server(folder, *array_words(folder, "volume=disk", f"create={SIZE}")) as uri:
        info = json.loads(run("nbdinfo", "--json", uri))["exports"][0]
        check(info["export-size"] == SIZE, "nbdinfo sees its size")
        check(info["block_size_minimum"] == 4096 and info["can_multi_conn"] and
              not info["is_read_only"], "... its blocks, that connections share it, and may write")
        run("nbdcopy", "--connections=4", "--requests=16", image, uri)
        run("nbdcopy", uri, f"{folder}/back")
        run("cmp", image, f"{folder}/back")
        check(True, "nbdcopy there and back by four connections: the same bytes")
        check("Images are identical" in run("qemu-img", "compare", "-f", "raw", "-F", "raw",
                                            image, uri), "qemu-img compare agrees")
        holes = json.loads(run("nbdinfo", "--map", "--json", uri))
        data = sum(e["length"] for e in holes if e["type"] == 0)
        check(data <= 21 * MIB, f"of {SIZE >> 20} MiB {data / MIB:.1f} are data: "
                                "what nbdcopy found to be zero is a hole")
    port = free_port()
    with server(folder, *array_words(folder, "volume=disk", f"metrics=127.0.0.1:{port}")) as uri:
        run("nbdcopy", uri, f"{folder}/again")
        run("cmp", image, f"{folder}/again")
        check(True, "a server that is started again has them still")
        said = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read().decode()
        read = re.search(r'^gnstor_volume_read_bytes_total{volume="1"} (\S+)$', said, re.M)
        check(read and 20 * MIB <= float(read[1]) <= SIZE and "gnstor_array_serves 1" in said,
              "Prometheus hears how much was read")
        # Nothing is under way; each part of a read was in these phases, and took its time in SSDs.
        count = {p: int(phase_metric(said, "request_phase_seconds_count", p))
                 for p in ("buffer", "queued", "waiting", "flash", "sending", "receiving")}
        parts = count["flash"]
        check(parts >= 20 * MIB / 131072 and count["queued"] == count["sending"] == parts and
              count["waiting"] == count["receiving"] == 0 and count["buffer"] == parts,
              f"... and in which phases its {parts} parts were")
        check(phase_metric(said, "request_phase_seconds_sum", "flash") > 0 and
              phase_metric(said, "request_phase_seconds_bucket", "flash", "+Inf") == parts and
              all(phase_metric(said, "requests_in_phase", p) == 0 for p in count),
              "... how long, and that none is there now")


def phase_metric(said, name, phase, most=None):
    """What was said to Prometheus of a phase."""
    le = f',le="{re.escape(most)}"' if most else ""
    return float(re.search(rf'^gnstor_{name}{{phase="{phase}"{le}}} (\S+)$', said, re.M)[1])


def test_qemu(folder):
    os.mkdir(f"{folder}/flash")
    with server(folder, *array_words(folder, "volume=disk", f"create={SIZE}")) as uri:
        raw = f"{folder}/raw"
        run("qemu-img", "create", "-q", "-f", "raw", raw, "24M")
        run("qemu-io", "-f", "raw", "-c", "write -P 0x5a 0 5M", "-c", "write -P 0xa5 11M 64k", raw)
        run("qemu-img", "create", "-q", "-f", "qcow2", uri, "24M")
        run("qemu-img", "convert", "-n", "-f", "raw", "-O", "qcow2", raw, uri)
        check("Images are identical" in run("qemu-img", "compare", "-f", "raw", "-F", "qcow2", raw,
                                            uri), "a qcow2 image inside a volume")
        check("No errors" in run("qemu-img", "check", "-f", "qcow2", uri), "qemu-img check of it")
        run("qemu-io", "-f", "qcow2", "-c", "read -P 0x5a 0 5M", "-c", "read -P 0 5M 6M",
            "-c", "read -P 0xa5 11M 64k", uri)
        run("qemu-io", "-f", "raw", "-c", "write -f -P 7 40M 64k", "-c", "write -z -u 40M 32k",
            "-c", "discard 44M 1M", "-c", "flush", "-c", "read -P 0 40M 32k",
            "-c", "read -P 7 41975808 32k", uri)
        check(True, "qemu-io: FUA, zeroes, discard and flush")


def test_fio(folder):
    os.mkdir(f"{folder}/flash")
    with server(folder, *array_words(folder, "volume=disk", f"create={SIZE}")) as uri:
        for name, how in (("4 KiB", ["--bs=4k", "--size=12m"]),
                          ("mixed", ["--bssplit=4k/60:16k/20:128k/10:1m/10", "--size=40m"])):
            run("fio", "--name=verify", "--ioengine=nbd", f"--uri={uri}", "--rw=randwrite",
                "--iodepth=32", "--verify=crc32c", "--verify_fatal=1", "--randseed=4", *how,
                cwd=folder)
            check(True, f"fio verifies {name} writes at depth 32")


def test_requests(folder):
    import nbd
    os.mkdir(f"{folder}/flash")
    with server(folder, *array_words(folder, "volume=disk", f"create={SIZE}")) as uri:
        h = nbd.NBD()
        h.set_strict_mode(0)
        h.connect_uri(uri)
        block = bytes(range(256)) * 16

        def fails(what, why):
            try:
                what()
            except nbd.Error as e:
                if e.errno != why:
                    raise AssertionError(f"{e}: {why} was expected") from e
                return True
            return False
        check(fails(lambda: h.pread(512, 0), "EINVAL") and
              fails(lambda: h.pwrite(block, 2048), "EINVAL") and
              fails(lambda: h.pwrite(block[:100], 0), "EINVAL"),
              "requests that are not of whole blocks: EINVAL")
        check(fails(lambda: h.pread(4096, SIZE), "EINVAL") and
              fails(lambda: h.pwrite(block, SIZE), "ENOSPC") and
              fails(lambda: h.zero(8192, SIZE - 4096), "ENOSPC") and
              fails(lambda: h.pread(4096, (1 << 63) - 4096), "EINVAL"),
              "requests beyond the end are refused")
        h.pwrite(block, 0)
        h.pwrite(block, 4096, nbd.CMD_FLAG_FUA)
        check(h.pread(8192, 0) == block * 2, "the connection goes on")
        h.zero(4096, 0, nbd.CMD_FLAG_FAST_ZERO)
        check(h.pread(4096, 0) == bytes(4096), "zeroes are fast where holes are allowed")
        check(fails(lambda: h.zero(4096, 4096, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_NO_HOLE),
                    "ENOTSUP"), "... and not where they are not")
        h.zero(4096, 4096, nbd.CMD_FLAG_NO_HOLE)
        check(h.pread(4096, 4096) == bytes(4096), "which are written then")
        h.pwrite(block * 3, 8192)
        h.trim(10000, 9000)
        check(h.pread(4096, 8192) == block and h.pread(4096, 12288) == bytes(4096) and
              h.pread(4096, 16384) == block, "a trim takes whole blocks alone")
        h.flush()
        runs = []
        h2 = nbd.NBD()
        h2.add_meta_context("base:allocation")
        h2.connect_uri(uri)
        h2.block_status(65536, 0, lambda _m, at, entries, _e: runs.extend(
            zip(entries[::2], entries[1::2])) or 0)
        check([r for r in runs if r[0] != 0][:4] ==
              [(4096, 3), (8192, 0), (4096, 3), (4096, 0)],
              "block status: a hole, zeroes that were written, data, a hole, data")
        h.shutdown()
        h2.shutdown()
    check("blocks of 4096 bytes" in said(folder), "the server says why it refused")


def test_exports(folder):
    import nbd
    os.mkdir(f"{folder}/flash")
    for name in ("one", "two"):
        with server(folder, *array_words(folder, f"volume={name}", "create=4M")):
            pass
    with server(folder, *array_words(folder)) as uri:
        listed = json.loads(run("nbdinfo", "--list", "--json", uri))["exports"]
        check([e["export-name"] for e in listed] == ["one", "two"], "exports are listed by name")
        for name in ("one", "two"):
            h = nbd.NBD()
            h.connect_uri(uri.replace("///?", f"///{name}?"))
            h.pwrite(name.encode() * 1024 + bytes(4096 - 3 * 1024), 0)
            h.shutdown()
        h = nbd.NBD()
        h.connect_uri(uri.replace("///?", "///two?"))
        check(h.pread(4096, 0)[:3] == b"two", "each export is its own volume")
        h.shutdown()
        failed = run("nbdinfo", uri.replace("///?", "///three?"), ok=(1,))
        check("three" in said(folder) and failed != "", "an export that is none is refused")
    with server(folder, *array_words(folder, "volume=one", "readonly=yes")) as uri:
        info = json.loads(run("nbdinfo", "--json", uri))["exports"][0]
        check(info["is_read_only"], "readonly=yes exports it to be read")


def test_local(folder):
    """A namespace of a local controller that gnstor-homid owns, beside a process with another."""
    import nbd
    if HOMID is None:
        say("  the tools were not built")
        return
    beside = None
    daemon = subprocess.Popen([HOMID, "--controller", "emu-nvme:?bytes=32M&namespaces=2&queues=24",
                               "--name", f"{folder}/homi"], stderr=open(f"{folder}/daemon", "ab"))
    try:
        for _ in range(200):
            if os.path.exists(f"{folder}/homi"):
                break
            time.sleep(0.05)
        else:
            raise AssertionError("gnstor-homid does not start: " +
                                 pathlib.Path(f"{folder}/daemon").read_text())
        words = [f"endpoint=homi:{folder}/homi", "volume=1"]
        pathlib.Path(f"{folder}/data").write_bytes(os.urandom(16 * MIB))
        beside = subprocess.Popen([PERF, "verify", "--endpoint",
                                   f"homi:{folder}/homi?scratch=yes&nsid=2", "--size", "16M",
                                   "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        with server(folder, *words) as uri:
            run("nbdcopy", "--flush", f"{folder}/data", uri)
            run("nbdcopy", f"{folder}/data", uri)  # again, beside the other process
            h = nbd.NBD()
            h.connect_uri(uri)
            h.trim(2 * MIB, 4 * MIB)
            h.zero(MIB, 8 * MIB)
            h.pwrite(b"z" * 8192, 12 * MIB, nbd.CMD_FLAG_FUA)
            h.flush()
            h.shutdown()
        wanted = bytearray(pathlib.Path(f"{folder}/data").read_bytes())
        wanted[4 * MIB:6 * MIB] = bytes(2 * MIB)
        wanted[8 * MIB:9 * MIB] = bytes(MIB)
        wanted[12 * MIB:12 * MIB + 8192] = b"z" * 8192
        with server(folder, *words, "readonly=yes") as uri:
            h = nbd.NBD()
            h.connect_uri(uri)
            check(h.is_read_only() and h.get_size() == 32 * MIB, "its export is a namespace")
            found = b"".join(h.pread(MIB, at) for at in range(0, 16 * MIB, MIB))
            check(found == wanted, "what was copied, trimmed, zeroed and written is there")
            h.shutdown()
        output = beside.communicate(timeout=60)[0].decode()
        if beside.returncode != 0:
            say(output)
        check(beside.returncode == 0, "the process with the other namespace has verified it")
        check(daemon.poll() is None, "gnstor-homid goes on")
    finally:
        if beside is not None:
            beside.kill()
        daemon.terminate()
        code = daemon.wait(timeout=30)
    check(code == 0, "and ends in order")


def test_kill(folder):
    """kill -9 of the server: what it had flushed is there when it is started again."""
    import nbd
    os.mkdir(f"{folder}/flash")
    words = array_words(folder, "volume=disk", f"create={SIZE}")
    random.seed(3)
    flushed = {}
    for life in range(3):
        at = f"{folder}/killed"
        process = subprocess.Popen(["nbdkit", "-f", "-U", at, "--threads", "16", PLUGIN,
                                    *words],
                                   stderr=open(f"{folder}/server", "ab"))
        for _ in range(400):
            if os.path.exists(at) or process.poll() is not None:
                break
            time.sleep(0.05)
        check_alive(process, folder)
        h = nbd.NBD()
        h.connect_uri(f"nbd+unix:///?socket={at}")
        wrong = [b for b, fill in flushed.items()
                 if h.pread(4096, b * 4096) != bytes([fill]) * 4096]
        check(not wrong, f"life {life}: the {len(flushed)} blocks that were flushed are there")
        for _ in range(300):
            block, fill = random.randrange(SIZE // 4096), random.randrange(1, 256)
            h.pwrite(bytes([fill]) * 4096, block * 4096)
            flushed[block] = fill
        h.flush()
        for block in [random.randrange(SIZE // 4096) for _ in range(50)]:  # these may be lost
            h.pwrite(bytes(4096), block * 4096)
            flushed.pop(block, None)
        process.kill()
        process.wait()
        os.unlink(at)


def receive(s, count):
    got = b""
    while len(got) < count:
        part = s.recv(count - len(got))
        if not part:
            raise AssertionError("the server has hung up")
        got += part
    return got


def begun(s, steps):
    """Goes so many steps of a conversation: greeting, options, the export, a request."""
    receive(s, 18)
    if steps == 0:
        return
    option = b"IHAVEOPT" + struct.pack(">II", 7, 6) + struct.pack(">IH", 0, 0)  # GO, no name
    s.sendall(struct.pack(">I", 3) + (option if steps > 1 else option[:11]))
    kind = 0
    while steps > 1 and kind != 1:  # until ACK
        _, _, kind, length = struct.unpack(">QIII", receive(s, 20))
        receive(s, length)
    if steps > 2:
        write = random.randrange(2)
        s.sendall(struct.pack(">IHHQQI", 0x25609513, 0, write, 1, 0, 65536) + bytes(5000) * write)


def resources(pid):
    """Open files, threads, and KiB of memory of a process."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return (len(os.listdir(f"/proc/{pid}/fd")), int(re.search(r"Threads:\s+(\d+)", status)[1]),
            int(re.search(r"VmRSS:\s+(\d+)", status)[1]))


def test_aborts(folder, count=int(os.environ.get("ABORTS", "1000"))):
    """Clients that connect and go away, at any step of a conversation, leave nothing behind."""
    import nbd
    os.mkdir(f"{folder}/flash")
    random.seed(4)
    with server(folder, *array_words(folder, "volume=disk", f"create={SIZE}")) as uri:
        h = nbd.NBD()
        h.connect_uri(uri)
        h.pwrite(b"k" * 65536, 0)
        pid = int(pathlib.Path(f"{folder}/pid").read_text())

        def settled(wanted):
            for _ in range(600):
                if resources(pid)[:2] == wanted:
                    return True
                time.sleep(0.02)
            print("wanted", wanted, "there are", resources(pid)[:2])
            return False

        def at_rest():
            """Files and threads once nothing comes and goes: those of a connection come late."""
            seen = [resources(pid)[:2]]
            while len(seen) < 25 or len(set(seen[-25:])) > 1:
                time.sleep(0.02)
                seen.append(resources(pid)[:2])
            return seen[-1]
        alone, early = at_rest(), 0
        for k in range(count):
            if k == count // 4:
                check(settled(alone), f"{k} clients have gone, and with them files and threads")
                early = resources(pid)[2]
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(f"{folder}/socket")
                if random.randrange(5):
                    begun(s, random.randrange(4))
        check(settled(alone), f"so have {count}")
        grown = resources(pid)[2] - early
        check(grown < 4096, f"the server has grown by {grown} KiB since the first quarter of them")
        check(h.pread(65536, 0) == b"k" * 65536, "who stayed is served, and half a write is none")
        h.shutdown()


def main():
    missing = sorted({package for command, package in NEEDED.items() if not shutil.which(command)})
    if not has_libnbd():
        missing.append("python3-libnbd")
    if missing:
        say(f"skipped: apt-get install {' '.join(missing)}")
        return 77
    for test in (test_arguments, test_copies, test_qemu, test_fio, test_requests, test_exports,
                 test_local, test_kill, test_aborts):
        say(f"{test.__name__}:")
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(folder)
            except Exception:
                with contextlib.suppress(OSError):
                    say(said(folder)[-4000:])
                raise
    say("ALL PASSED")
    return 0


if __name__ == "__main__":
    sys.exit(main())
