"""Installs a lock file into the environment that runs this, and shows how far it is: pip alone is silent or a flood."""

import shutil
import subprocess
import sys
import time

PIP = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-color", "--progress-bar=off"]
ON_TERMINAL = sys.stdout.isatty()
SAY_EVERY_S = 0 if ON_TERMINAL else 15


def main(arguments: list[str]) -> int:
    output: list[str] = []
    found, said_at = 0, time.monotonic()
    with subprocess.Popen(
        [*PIP, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            output.append(line)
            word = line.split()[1].split("=")[0] if line.startswith("Collecting ") else None
            found += word is not None
            doing = f"fetching {found}: {word}" if word else "unpacking …" if line.startswith("Installing ") else None
            if doing and time.monotonic() - said_at >= SAY_EVERY_S:
                show(doing)
                said_at = time.monotonic()
    show("")
    if pip.returncode != 0:
        sys.stderr.writelines(output)
    return pip.returncode


def show(doing: str) -> None:
    if ON_TERMINAL:
        width = shutil.get_terminal_size().columns - 4
        sys.stdout.write(f"\r\033[K{'  ' + doing[:width] if doing else ''}")
    elif doing:
        sys.stdout.write(f"  {doing}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
