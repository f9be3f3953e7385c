"""Confines workers: what the kernel keeps a handler from doing. Linux only.

Loaded by the fork server (`zygote.py`), so it uses the standard library alone, from Python 3.9 on. As a program of its
own it tries a level and exits with 0, or prints why this machine does not have it.

`hardened`, in every worker: no capabilities and no new privileges, limits on files and processes, first choice of the
kernel when memory runs out. The fork server and the server are not dumpable: no process of the same user reads their
memory or environment, or traces them.

`namespaces`, in addition:

1. The fork server enters a user and a mount namespace (`enter`). Its root is an empty file system into which programs
   and libraries are bound read-only. Data folder, home folders and `/tmp` are not among them.
2. A worker is cloned into a process namespace (`clone`). Its process 1 mounts the function's code, its layers, its own
   `/tmp` and `/proc`, covers everything else, forks the worker, and waits for it (`run_first`). With process 1 all
   other processes of the namespace end, wherever they have gone.
3. The worker enters a user namespace of its own, where it is the only user, has no capabilities, and where processes
   are counted for it alone.

The network is shared: handlers call the server on loopback.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import platform
import shutil
import signal
import struct
import sys
from collections.abc import Callable, Iterable
from typing import Any

UID, GID = 993, 990
"""User and group of handlers in the service."""
PROCESSES = 1_024
"""Processes and threads of an environment. Source: Lambda quotas."""
SPARE_PROCESSES = 16_384
"""Processes of a whole user, above those of the machine, from which `hardened` refuses more: the kernel counts all
processes of the user, also those outside of the server."""
OOM_SCORE = 500
SHARED_MEMORY_MIB = 64
MOST_FILES = 200_000

PR_SET_DUMPABLE, PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 4, 1, 24, 38, 47
NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000
RDONLY, NOSUID, NODEV, NOEXEC, BIND, REC, PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
DETACH = 2
AT_RECURSIVE = 0x8000
MOUNT_SETATTR = 442
SYSCALLS = {"x86_64": (56, 155), "aarch64": (220, 41)}
"""Numbers of `clone` and `pivot_root` by machine; they have no function in the C library that is of use here."""

PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
SETTINGS_BOUND = (
    "/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust", "/etc/ca-certificates", "/etc/alternatives",
    "/etc/fonts", "/etc/resolv.conf", "/etc/hosts",
)  # fmt: skip
SETTINGS_COPIED = (
    "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols", "/etc/localtime",
    "/etc/timezone", "/etc/ld.so.cache", "/etc/mime.types", "/etc/os-release", "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/openssl.cnf", "/etc/pki/tls/cert.pem",
)  # fmt: skip
DEVICES = ("null", "zero", "full", "random", "urandom")
KERNEL_SETTINGS = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs")
"""Files through which root changes the whole machine, also root without capabilities."""
SHADED = ("/tmp", "/opt", "/var/task", "/dev/shm")
"""Folders over which each worker mounts its own."""
MASKED_FILE = "statewright.toml"

Settings = dict[str, Any]
"""Settings of a fork server: `level`, the folder of the `code`, folders that stay `visible`, paths to `hide`, and the
`sdk` for JavaScript as a pair of its folder and the path at which workers see it, or None."""
Place = dict[str, Any]
"""Mounts of a worker: `code` and `layers` by their names in the code folder, `tmp_mib`."""

_libc = ctypes.PyDLL(None, use_errno=True)
_outside = {"uid": -1}
"""The user that handlers are outside of their namespace."""
_kept: list[tuple[str, str]] = []
"""Visible paths below `SHADED`: where the fork server keeps them, and where workers see them."""


def _call(name: str, *arguments: Any) -> int:
    result: int = getattr(_libc, name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        shown = ", ".join(str(one) for one in arguments if isinstance(one, (str, bytes, int)))
        raise OSError(number, f"{name}({shown}): {os.strerror(number)}")
    return result


def _syscalls() -> tuple[int, int]:
    found = SYSCALLS.get(platform.machine())
    if found is None:
        raise OSError(errno.ENOSYS, f"not known on {platform.machine()}")
    return found


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


# ------------------------------------------------------------------ hardened


def hide_memory() -> None:
    """Make this process not dumpable: processes of the same user cannot trace it, nor read its memory."""
    _call("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0)


def confine(level: str, file_bytes: int) -> None:
    """Confine this process, a worker, for good; `file_bytes` is the longest file that it may write."""
    import resource

    # The fork server is not dumpable, and its children cannot write their own files in /proc.
    _call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)
    with contextlib.suppress(OSError, ValueError), open("/proc/self/oom_score_adj", "r+") as file:
        if int(file.read()) < OOM_SCORE:
            file.write(str(OOM_SCORE))
    if level == "namespaces":
        _call("unshare", NEWUSER)
        _map(UID, GID)
        with contextlib.suppress(OSError):
            _write("/proc/sys/user/max_user_namespaces", "0")
        processes = PROCESSES
    else:
        processes = _machine_processes() + SPARE_PROCESSES
    for what, most in ((resource.RLIMIT_FSIZE, file_bytes), (resource.RLIMIT_NPROC, processes)):
        hard = resource.getrlimit(what)[1]
        if most and (hard == resource.RLIM_INFINITY or most <= hard):
            resource.setrlimit(what, (most, most))
    _drop_privileges()


def _machine_processes() -> int:
    """Processes and threads of the whole machine."""
    try:
        with open("/proc/loadavg") as file:
            return int(file.read().split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return 0


def _drop_privileges() -> None:
    for capability in range(64):
        if _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0 and ctypes.get_errno() == errno.EINVAL:
            break
    _libc.prctl(PR_CAP_AMBIENT, 4, 0, 0, 0)
    _call("capset", struct.pack("Ii", 0x20080522, 0), bytes(24))
    _call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


# ------------------------------------------------------------------ namespaces: the fork server


def _map(uid: int, gid: int) -> None:
    """Make the given user the only one of a user namespace that this process has just made for user `UID`."""
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{UID} {uid} 1")
    _write("/proc/self/gid_map", f"{GID} {gid} 1")


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    _call("mount", texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3])


def _read_only(path: str, flags: int = AT_RECURSIVE) -> None:
    attributes = struct.pack("QQQQ", RDONLY | NOSUID | NODEV, 0, 0, 0)
    _call("syscall", MOUNT_SETATTR, -100, os.fsencode(path), flags, attributes, len(attributes))


def _bind(source: str, target: str) -> None:
    """Bind a file or folder read-only; the place is made."""
    _rebind(source, target)
    _read_only(target)


def visible_paths(given: Iterable[str]) -> list[str]:
    """Paths that handlers see: programs, libraries, this interpreter with its packages, and the given ones."""
    here = os.path.dirname(os.path.abspath(__file__))
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    wanted = [*PROGRAMS, sys.prefix, sys.base_prefix, sys.exec_prefix, here, *sys.path, *libraries, *given]
    found: set[str] = set()
    for path in wanted:
        if path and os.path.isabs(path) and os.path.exists(path):
            found |= {os.path.normpath(path), os.path.realpath(path)}
    # A folder so high that it holds everything is no folder of programs.
    found -= {"/", "/etc", "/home", "/root", "/tmp", "/var", "/proc", "/dev", "/opt", "/run"}
    kept: list[str] = []
    for path in sorted(found):
        if not any(path.startswith(f"{above}/") for above in kept):
            kept.append(path)
    return kept


def enter(settings: Settings) -> None:
    """Move this process, the fork server, into its namespaces. Raises: OSError."""
    pivot_root = _syscalls()[1]
    visible = visible_paths(settings["visible"])
    uid, gid = os.geteuid(), os.getegid()
    _outside["uid"] = uid
    _call("unshare", NEWUSER | NEWNS)
    _map(uid, gid)
    mask = os.umask(0o022)
    _mount(None, "/", None, REC | PRIVATE)
    # Two turns: the new root is built beside the old one, which is then detached.
    _mount("tmpfs", "/tmp", "tmpfs", NOSUID | NODEV, "mode=755")
    os.mkdir("/tmp/new")
    os.mkdir("/tmp/old")
    _call("syscall", pivot_root, b"/tmp", b"/tmp/old")
    os.chdir("/")
    _mount("tmpfs", "/new", "tmpfs", NOSUID | NODEV, "mode=755")
    os.mkdir("/new/.base")
    _mount("tmpfs", "/new/.base", "tmpfs", NOSUID | NODEV, "mode=755,size=1m")
    _build_root("/old", "/new", visible)
    _bind(f"/old{settings['code']}", "/new/.base/code")
    if settings["sdk"]:
        folder, place = settings["sdk"]
        _bind(f"/old{_resolved('/old', folder)}", f"/new{place}")
    _hide("/new", [path for path in visible if path not in PROGRAMS], settings["hide"])
    os.makedirs("/new/.base/old")
    _call("syscall", pivot_root, b"/new", b"/new/.base/old")
    os.chdir("/")
    _call("umount2", b"/.base/old", DETACH)
    _read_only("/", 0)
    os.umask(mask)


def _build_root(old: str, new: str, visible: list[str]) -> None:
    for path in visible:
        if os.path.islink(old + path) and path in PROGRAMS:
            os.symlink(os.readlink(old + path), new + path)
            continue
        # A symbolic link would lead out of the old root.
        source = old + os.path.realpath(path) if not os.path.islink(old + path) else old + _resolved(old, path)
        if path.startswith(tuple(f"{place}/" for place in SHADED)):
            keep = f"/.base/keep/{len(_kept)}"
            _bind(source, new + keep)
            _kept.append((keep, path))
        else:
            _bind(source, new + path)
    for place in (*SHADED, "/var/runtime", "/home/sbx_user1051", "/root", "/dev", "/proc", "/etc"):
        os.makedirs(new + place, exist_ok=True)
    os.chmod(f"{new}/root", 0o700)
    _bind(old + os.path.dirname(os.path.abspath(__file__)), f"{new}/var/runtime")
    for device in DEVICES:
        open(f"{new}/dev/{device}", "w").close()
        _mount(f"{old}/dev/{device}", f"{new}/dev/{device}", None, BIND)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"{new}/dev/{name}")
    os.symlink("/proc/self/fd", f"{new}/dev/fd")
    _mount(f"{old}/proc", f"{new}/proc", None, BIND | REC)
    for path in SETTINGS_BOUND:
        source = old + _resolved(old, path)
        if os.path.exists(source):
            _bind(source, new + path)
    for path in SETTINGS_COPIED:
        source = old + _resolved(old, path)
        if os.path.isfile(source) and not os.path.exists(new + path):
            os.makedirs(os.path.dirname(new + path), exist_ok=True)
            with contextlib.suppress(OSError):
                shutil.copyfile(source, new + path)
    _write(
        f"{new}/etc/passwd",
        f"root:x:0:0:root:/root:/sbin/nologin\nsbx_user1051:x:{UID}:{GID}::/home/sbx_user1051:/sbin/nologin\n",
    )
    _write(f"{new}/etc/group", f"root:x:0:\nsbx_user1051:x:{GID}:\nnogroup:x:65534:\n")


def _resolved(old: str, path: str) -> str:
    """A path with the symbolic links of the old root resolved, as seen from there."""
    for _ in range(20):
        parts = path.split("/")
        for count in range(2, len(parts) + 1):
            part = "/".join(parts[:count])
            if os.path.islink(old + part):
                link = os.path.join(os.path.dirname(part), os.readlink(old + part))
                path = os.path.normpath(os.path.join(link, *parts[count:]))
                break
        else:
            return path
    return path


def _hide(new: str, visible: list[str], hidden: Iterable[str]) -> None:
    """Cover what lies in a visible folder and is none of a handler's business."""
    for path in visible:
        if os.path.isfile(f"{new}{path}/{MASKED_FILE}"):
            _mount(f"{new}/dev/null", f"{new}{path}/{MASKED_FILE}", None, BIND)
    for path in hidden:
        for real in {os.path.normpath(path), _resolved("/old", path)}:
            places = [real, *(keep + real[len(target) :] for keep, target in _kept if real.startswith(f"{target}/"))]
            for place in places:
                if os.path.isdir(new + place):
                    _mount("tmpfs", new + place, "tmpfs", RDONLY | NOSUID | NODEV, "size=4k,mode=000")


# ------------------------------------------------------------------ namespaces: a worker


def clone() -> int:
    """Fork into a new process namespace, whose process 1 the child is; return as `os.fork` does. Raises: OSError.

    The interpreter prepares itself as for any fork: from Python 3.13 on, a child dies that releases locks which its
    parent did not take.
    """
    number = _syscalls()[0]
    pid = -1
    ctypes.pythonapi.PyOS_BeforeFork()
    try:
        pid = _call("syscall", number, NEWPID | signal.SIGCHLD, 0, 0, 0, 0)
    finally:
        (ctypes.pythonapi.PyOS_AfterFork_Child if pid == 0 else ctypes.pythonapi.PyOS_AfterFork_Parent)()
    return pid


def run_first(place: Place, report: int, null: int, work: Callable[[], int]) -> None:
    """Be process 1: mount what the worker sees, fork it, reap, and exit after it.

    Its status, as `os.waitstatus_to_exitcode` has it, goes to the descriptor `report`. Raises: OSError.
    """
    os.setsid()
    _call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _furnish(place)
    worker = os.fork()
    if worker == 0:
        code = 127
        try:
            code = work()
        except BaseException as problem:
            os.write(2, f"cannot start the worker: {problem}\n".encode())
        finally:
            os._exit(code)

    def end(number: int, _frame: object) -> None:
        with contextlib.suppress(OSError):
            os.killpg(worker, number)

    signal.signal(signal.SIGTERM, end)
    os.dup2(report, 3)
    for number in range(3):
        os.dup2(null, number)
    os.closerange(4, 1 << 16)
    _drop_privileges()
    while True:
        pid, status = os.wait()
        if pid == worker:
            os.write(3, struct.pack("i", os.waitstatus_to_exitcode(status)))
            os._exit(0)


def _furnish(place: Place) -> None:
    _call("unshare", NEWNS | NEWIPC | NEWUTS)
    _mount("tmpfs", "/tmp", "tmpfs", NOSUID | NODEV, f"size={place['tmp_mib']}m,mode=1777,nr_inodes={MOST_FILES}")
    _mount("tmpfs", "/dev/shm", "tmpfs", NOSUID | NODEV, f"size={SHARED_MEMORY_MIB}m,mode=1777")
    _mount(f"/.base/code/{place['code']}", "/var/task", None, BIND | REC)
    if place["layers"]:
        layers = f"/.base/code/{place['layers']}"
        if any(target.startswith("/opt/") for _, target in _kept):
            _mount("tmpfs", "/opt", "tmpfs", NOSUID | NODEV, "mode=755,size=1m")
            for name in os.listdir(layers):
                _rebind(f"{layers}/{name}", f"/opt/{name}")
        else:
            _mount(layers, "/opt", None, BIND | REC)
    elif any(target.startswith("/opt/") for _, target in _kept):
        _mount("tmpfs", "/opt", "tmpfs", NOSUID | NODEV, "mode=755,size=1m")
    for keep, target in _kept:
        _rebind(keep, target)
    _mount("proc", "/proc", "proc", NOSUID | NODEV | NOEXEC)
    with contextlib.suppress(OSError):
        # Linux 6.14 has this limit for each process namespace. The first 300 numbers are used only once.
        _write("/proc/sys/kernel/pid_max", str(PROCESSES + 300))
    for path in KERNEL_SETTINGS:
        if _outside["uid"] == 0 and os.path.exists(path):
            _mount(path, path, None, BIND)
            if path == "/proc/sys":
                _mount(f"{path}/user", f"{path}/user", None, BIND)
            _read_only(path, 0)
    # Covered, not unmounted: a worker has no right to uncover it, and an unmount waits for every processor.
    _mount("tmpfs", "/.base", "tmpfs", RDONLY | NOSUID | NODEV, "size=4k,mode=000")


def _rebind(source: str, target: str) -> None:
    """Bind a file or folder as it is, for one that is read-only already; the place is made."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        open(target, "a").close()
    _mount(source, target, None, BIND | REC)


# ------------------------------------------------------------------ trying a level


def main() -> int:
    """Try a level; its name is the argument."""
    level = sys.argv[1]
    try:
        if not sys.platform.startswith("linux"):
            raise OSError(errno.ENOSYS, "needs Linux")
        if level == "namespaces":
            _try_namespaces()
        else:
            hide_memory()
            confine(level, 1 << 30)
    except OSError as problem:
        print(problem.strerror or problem)
        return 1
    return 0


def _try_namespaces() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    enter({"code": os.path.dirname(here), "visible": [], "hide": [], "sdk": None})
    hide_memory()
    out, report = os.pipe()
    words, said = os.pipe()
    null = os.open("/dev/null", os.O_RDWR)

    def work() -> int:
        confine("namespaces", 1 << 30)
        return 7 if os.path.exists("/var/task") and not os.path.exists("/.base/code") else 1

    pid = clone()
    if pid == 0:
        try:
            run_first({"code": os.path.basename(here), "layers": "", "tmp_mib": 1}, report, null, work)
        except BaseException as problem:
            os.write(said, json.dumps(str(problem)).encode())
        os._exit(1)
    os.waitpid(pid, 0)
    os.close(report)
    os.close(said)
    status = os.read(out, 4)
    if status != struct.pack("i", 7):
        raise OSError(errno.EPERM, json.loads(os.read(words, 4096) or '"a worker cannot be confined"'))


if __name__ == "__main__":
    sys.exit(main())
