"""PostgreSQL runs as an ordinary user as itself, and as root under a lent account that may pass closed folders."""

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.dev.account import account_for
from app.dev.postgres import EmbeddedPostgres
from app.dev.process import KeptProcess

AS_ORDINARY_USER = """
import os, sys
from pathlib import Path
from app.dev.keeper import drop_privileges
if os.geteuid() == 0:
    # The interpreter itself may stand in root's home.
    drop_privileges(65534, 65534, "files")
from app.dev.postgres import EmbeddedPostgres
from app.dev.process import KeptProcess
from app.dev.redis import EmbeddedValkey
for server in (EmbeddedPostgres(Path(sys.argv[1]), durable=False), EmbeddedValkey(Path(sys.argv[1]))):
    server.start()
    assert server.restart() == server.url()
    server.stop()
print(os.geteuid())
"""


def test_ordinary_user_runs_both_services(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    for parent in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        parent.chmod(0o711)
    if os.geteuid() == 0:
        os.chown(folder, 65534, 65534)

    done = subprocess.run(
        [sys.executable, "-c", AS_ORDINARY_USER, folder], capture_output=True, text=True, timeout=50, check=False
    )

    assert done.stderr == ""
    assert int(done.stdout) != 0
    assert (folder / "postgres").stat().st_uid == int(done.stdout)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root lends its server another account")
class TestRoot:
    def test_known_user_is_lent(self, tmp_path: Path) -> None:
        account = account_for(tmp_path / "postgres", Path("/bin/sh"))

        assert account is not None
        assert pwd.getpwuid(account.uid).pw_name in ("postgres", "nobody")

    def test_folder_keeps_its_owner(self, tmp_path: Path) -> None:
        nobody = pwd.getpwnam("nobody")
        os.chown(tmp_path, nobody.pw_uid, nobody.pw_gid)

        account = account_for(tmp_path, Path("/bin/sh"))

        assert account is not None
        assert account.uid == nobody.pw_uid

    def test_closed_program_is_run(self, tmp_path: Path) -> None:
        program = tmp_path / "program"
        shutil.copy("/bin/sleep", program)
        program.chmod(0o700)
        account = account_for(tmp_path / "postgres", program)
        assert account is not None

        code = KeptProcess([program, "0"], account=account).wait(10)

        assert (account.reach, code) == ("files", 0)

    def test_closed_folder_on_the_way_is_passed_and_stays_closed(self, tmp_path: Path) -> None:
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o700)
        server = EmbeddedPostgres(closed / "data", durable=False)

        server.start()

        assert closed.stat().st_mode & 0o777 == 0o700
        assert (closed / "data" / "postgres").stat().st_uid != 0
        server.stop()
