"""`python -m app.cli` is `parley`, for where the script's folder is not on the path."""

from app.cli import main

main()
