"""Real programs as processes of this machine, over the socket model of rdma-core."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

SKIPPED = 77
METRICS = ("--metrics", "127.0.0.1:0")
ARRAY = "nqn.2026-11.io.gnstor:array"
failures = 0


def check(right, what, *words):
    """Notes what is wrong."""
    global failures
    if not right:
        failures += 1
        print("FAILED:", what, *words, flush=True)
    return right


def eventually(holds, seconds=20):
    """Whether it holds by then."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def free_port():
    """A port that no TCP server has now; that of RDMA is another one, of the same number."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def http_get(port, path):
    """What a server of this machine answers."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=2) as answer:
        return answer.read().decode()


class Programs:
    """Where they are, and the environment in which they find the model."""

    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.model = self.build / "test/libgnstor_rdma_model.so"

    def has_metrics(self):
        """Whether they were built with prometheus-cpp."""
        done = subprocess.run([self.path("gnstord"), "--metrics", "nowhere"], text=True,
                              capture_output=True, timeout=30, check=False)
        return "no prometheus-cpp" not in done.stderr

    def path(self, name):
        folder = "tools" if name.startswith("gnstor") else "test"
        return str(self.build / folder / name)

    def start(self, name, *words, output, cut=None):
        """@param cut a file: while it exists, the process is off the network"""
        env = {**os.environ, "LD_PRELOAD": str(self.model)}
        if cut:
            env["GNSTOR_RDMA_MODEL_CUT"] = str(cut)
        with open(output, "a", encoding="utf-8") as into:
            return subprocess.Popen([self.path(name), *map(str, words)], env=env, stdout=into,
                                    stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)


class Server:
    """A program that serves until it is ended, and can be started again."""

    program = says_ready = ""
    process = cut = None

    def start(self):
        before = self.said().count(self.says_ready)
        self.process = self.programs.start(self.program, *self.arguments, output=self.output,
                                           cut=self.cut)
        ready = eventually(lambda: self.said().count(self.says_ready) > before
                           or self.process.poll() is not None)
        if not ready or self.process.poll() is not None:
            raise SystemExit(f"{self.program} does not start: {self.said()}")
        return self

    def said(self):
        return self.output.read_text() if self.output.exists() else ""

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(30)

    tls = None  # folder of certificates, with which gnstorctl comes

    def gnstorctl(self, *words):
        """Exit code and output."""
        tls = () if self.tls is None else tls_files("me", self.tls)
        done = subprocess.run([self.programs.path("gnstorctl"), "--server", self.control, *tls,
                               *words], text=True, capture_output=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr


def tls_files(name, folder):
    """Options that name a certificate, its key and who signs."""
    return ["--tls-cert", folder / f"{name}.pem", "--tls-key", folder / f"{name}.key",
            "--tls-ca", folder / "ca.pem"]


class Target(Server):
    """A gnstor-target that serves and manages an array in files of `folder`."""

    program, says_ready = "gnstor-target", "manager:"

    def __init__(self, programs, folder, array="ssds=4&capacity=64M&replicas=2", more=(),
                 ssd_timeout=20_000):
        self.programs, self.folder = programs, pathlib.Path(folder)
        flash = self.folder / "flash"
        flash.mkdir(exist_ok=True)
        self.output = self.folder / "target.txt"
        self.faults = self.folder / "ssd_faults"
        self.faults.touch()
        port, self.control = free_port(), f"127.0.0.1:{free_port()}"
        self.endpoint = f"gnstor://{self.control}"
        self.arguments = ["--listen", f"127.0.0.1:{port}", "--array", f"emu:?{array}&flash={flash}",
                          "--faults", self.faults, "--manage", "--control", self.control,
                          "--ssd-timeout", ssd_timeout, *more]

    def healthy(self):
        return self.gnstorctl("array", "health")[0] == 0


class Daemon(Server):
    """A gnstord that manages the array of a target in another process. `gnstorctl` asks it alone,
    whoever leads."""

    program, says_ready = "gnstord", "ready "

    def __init__(self, programs, target, number, more=()):
        self.programs = programs
        self.control = f"127.0.0.1:{free_port()}"
        self.output, self.cut = (target.folder / f"daemon{number}.{what}"
                                 for what in ("txt", "cut"))
        self.arguments = ["--listen", self.control, "--array", f"rdma://{target.listen}/{ARRAY}",
                          "--manager-secret", target.secret, "--ssd-timeout", "20000", *more]


class TlsTarget(Target):
    """A target that manages over TLS; hosts and gnstorctl come with an administrator's
    certificate."""

    def __init__(self, programs, folder):
        certificates = pathlib.Path(folder) / "certificates"
        script = pathlib.Path(__file__).resolve().parents[2] / "scripts/test_ca"
        subprocess.run([script, certificates, "me=admin:me"], check=True, capture_output=True)
        super().__init__(programs, folder, more=tls_files("server", certificates))
        self.tls = certificates
        self.plain_endpoint = self.endpoint
        self.endpoint += (f"?tls_cert={certificates}/me.pem&tls_key={certificates}/me.key"
                          f"&tls_ca={certificates}/ca.pem")


class ManagedElsewhere(Target):
    """A target that serves an array; daemons in other processes manage it."""

    says_ready = " SSDs\n"

    def __init__(self, programs, folder, more=(), daemons=1, **how):
        super().__init__(programs, folder, **how)
        self.secret = self.folder / "secret"
        self.secret.write_text(os.urandom(16).hex())
        self.listen = self.arguments[1]
        self.daemons = [Daemon(programs, self, k, more) for k in range(daemons)]
        self.control = ",".join(d.control for d in self.daemons)
        self.endpoint = f"gnstor://{self.control}"
        self.arguments = [*self.arguments[:6], "--manager-secret", self.secret, "--managers",
                          self.control]

    def start(self):
        super().start()
        for d in self.daemons:
            if d.process is None or d.process.poll() is not None:
                d.start()
        return self

    def end(self, how=signal.SIGTERM):
        """Its daemons end with it in order; they outlive one that is killed."""
        codes = [d.end() for d in self.daemons if how == signal.SIGTERM]
        return next((c for c in [super().end(how), *codes] if c != 0), 0)


class Client:
    """A process at an array, and what it has said."""

    def __init__(self, programs, folder, name, *words, cut=None):
        number, Client.made = Client.made, Client.made + 1
        self.output = pathlib.Path(folder) / f"{name}.{number}.txt"
        self.process = programs.start(name, *words, output=self.output, cut=cut)

    made = 0

    def said(self):
        return self.output.read_text()

    def until(self, words, seconds=20):
        """Whether it has said that by then; it goes on meanwhile."""
        eventually(lambda: words in self.said() or self.process.poll() is not None, seconds)
        return words in self.said()

    def wait(self, seconds=60):
        """Its exit code, or None: it does not end."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self, how=signal.SIGTERM, seconds=60):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.wait(seconds)


def run(test):
    """Runs `test(folder)`, and kills what it has left; the exit code."""
    # What is killed here leaves its files as they are: they need no disk, which may be busy.
    memory = pathlib.Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > 4 << 30
    with tempfile.TemporaryDirectory(dir=memory if roomy else None) as folder:
        try:
            test(pathlib.Path(folder))
        finally:
            end_children()
    print(f"{failures} failures")
    return 1 if failures else 0


def end_children():
    for task in pathlib.Path("/proc/self/task").iterdir():
        for child in (task / "children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
