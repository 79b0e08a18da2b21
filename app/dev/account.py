"""Which system user PostgreSQL runs as: it refuses root, so root lends it another account."""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from app.errors import ConfigurationError

# Both are made by the system's packages; initdb needs a user that has a name.
CANDIDATES = ("postgres", "nobody")


@dataclass(frozen=True)
class Account:
    """`reach`: see drop_privileges in keeper.py."""

    uid: int
    gid: int
    reach: str = ""


def account_for(data: Path, program: Path) -> Account | None:
    """The account for a data folder, or None when we may run the program ourselves. A folder keeps its owner."""
    if os.geteuid() != 0:
        return None
    user = _owner(data) or _first_known()
    folders = {*data.resolve().parents, *program.resolve().parents}
    reach = "" if all(_may_execute(user, folder) for folder in folders) else "folders"
    return Account(user.pw_uid, user.pw_gid, reach if _may_execute(user, program) else "files")


def _owner(data: Path) -> pwd.struct_passwd | None:
    try:
        uid = data.stat().st_uid
        return pwd.getpwuid(uid) if uid else None
    except (FileNotFoundError, KeyError):
        return None


def _first_known() -> pwd.struct_passwd:
    for name in CANDIDATES:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise ConfigurationError(
        "PostgreSQL refuses to run as root and this machine has neither a user 'postgres' nor 'nobody'. "
        "Start Parley as an ordinary user, or set DATABASE_URL."
    )


def _may_execute(user: pwd.struct_passwd, path: Path) -> bool:
    try:
        found = path.stat()
    except FileNotFoundError:
        return True
    if found.st_uid == user.pw_uid:
        return bool(found.st_mode & stat.S_IXUSR)
    if found.st_gid == user.pw_gid:
        return bool(found.st_mode & stat.S_IXGRP)
    return bool(found.st_mode & stat.S_IXOTH)
