"""Runs one program and stops it when its owner goes away; run as a script, so only the standard library is at hand.

The owner holds the other end of our standard input. However it dies, SIGKILL included, we read end-of-file and stop
the program in order. Should we die ourselves, the kernel signals the program where it can (Linux).
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import sys
import time
from typing import Any, NoReturn

PR_SET_PDEATHSIG = 1
PR_SET_SECUREBITS = 28
SECBIT_NO_SETUID_FIXUP = 1 << 2
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2
CAPABILITY_VERSION_3 = 0x20080522
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
CANNOT_RUN = 127
ASKING = (signal.SIGTERM, signal.SIGINT)
ON_LINUX = sys.platform == "linux"


def drop_privileges(uid: int, gid: int, reach: str) -> None:
    """Become another user. `reach` is the right of root's that is kept: to pass closed "folders", such as root's own
    home, to use closed "files" as well, or none when empty."""
    os.setgroups([])
    os.setgid(gid)
    if not (reach and ON_LINUX):
        os.setuid(uid)
        return
    libc = ctypes.CDLL(None, use_errno=True)
    # Not just "keep capabilities": without this, access(2), by which initdb looks for its programs, ignores them.
    libc.prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0)
    os.setuid(uid)
    # Containers usually withhold the narrow capability, which does not extend to running files, and grant the wide one.
    wished = (CAP_DAC_OVERRIDE,) if reach == "files" else (CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE)
    if not any(_keep_capability(libc, capability) for capability in wished):
        raise PermissionError("this machine does not let root lend out the right to pass closed folders")


def _keep_capability(libc: ctypes.CDLL, capability: int) -> bool:
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    mask = 1 << capability
    sets = (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0)  # effective, permitted, inheritable; low word, high word
    if libc.capset(ctypes.byref(header), ctypes.byref(sets)) != 0:
        return False
    return bool(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) == 0)


def _die_with(parent: int, number: int) -> None:
    if ON_LINUX:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(CANNOT_RUN)


def _become(spec: dict[str, Any], keeper: int, source: int) -> NoReturn:
    try:
        os.dup2(source, 0)
        os.dup2(2, 1)
        for number in ASKING:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ASKING)
        if spec["account"]:
            drop_privileges(*spec["account"])
        if spec["cwd"]:
            os.chdir(spec["cwd"])
        # Changing the user clears the parent-death signal, so this comes after it.
        _die_with(keeper, spec["stop_signals"][0])
        os.execv(spec["argv"][0], spec["argv"])
    except BaseException as error:
        os.write(2, f"{spec['argv'][0]}: {error}\n".encode())
    os._exit(CANNOT_RUN)


def _standard_input(text: str) -> int:
    if not text:
        return os.open(os.devnull, os.O_RDONLY)
    source, target = os.pipe()
    os.write(target, text.encode())
    os.close(target)
    return source


def _listen() -> tuple[int, list[int]]:
    """A descriptor that can be read after each signal, and where those that ask us to stop are noted."""
    bell, ring = os.pipe()
    os.set_blocking(ring, False)
    asked: list[int] = []
    signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return bell, asked


def _keep(program: int, stop_signals: list[int], grace_s: float, bell: int, asked: list[int]) -> int:
    """Wait for the program's end; once the owner is gone, send one signal after the other, `grace_s` apart."""
    left = [*stop_signals, signal.SIGKILL]
    watched, deadline = [0, bell], float("inf")
    while True:
        done, status = os.waitpid(program, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if time.monotonic() >= deadline or (asked and deadline == float("inf")):
            os.kill(program, left.pop(0) if len(left) > 1 else left[0])
            deadline = time.monotonic() + grace_s
        wait_s = None if deadline == float("inf") else max(0.0, deadline - time.monotonic())
        readable, _, _ = select.select(watched, [], [], wait_s)
        if bell in readable:
            os.read(bell, 512)
        if 0 in readable and not os.read(0, 512):
            watched.remove(0)
            asked.append(0)


def main() -> None:
    spec = json.loads(sys.argv[1])
    for descriptor in spec["hold"]:
        os.set_inheritable(descriptor, False)
    source = _standard_input(spec["input"])
    keeper = os.getpid()
    bell, asked = _listen()  # before the owner is told the pid: from then on it may ask us to stop
    # What is sent to the program before it is itself waits until it no longer handles signals as we do.
    signal.pthread_sigmask(signal.SIG_BLOCK, ASKING)
    program = os.fork()
    if program == 0:
        _become(spec, keeper, source)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ASKING)
    os.close(source)
    os.write(1, f"{program}\n".encode())
    os.close(1)
    code = _keep(program, spec["stop_signals"], spec["grace_s"], bell, asked)
    if spec["sweep"]:
        shutil.rmtree(spec["sweep"], ignore_errors=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
