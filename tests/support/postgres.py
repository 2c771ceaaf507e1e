"""A PostgreSQL server for tests, in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from urllib.parse import quote
from uuid import uuid4

__all__ = ["PASSWORD", "PostgresServer", "binaries"]

PASSWORD = "s3cret/word"


def binaries() -> Path | None:
    """Return the folder with the server's programs, which distributions keep off the PATH."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)


class PostgresServer:
    """Listens on a socket in its own folder, requires a password, and does not sync to disk."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        # The path of a socket has at most 107 characters, which pytest's folders may exceed.
        self._home = Path(tempfile.mkdtemp(prefix="pg"))
        self._data = self._home / "data"
        # The server refuses to run as root.
        self._user = "postgres" if os.geteuid() == 0 else None

    def __enter__(self) -> PostgresServer:
        secret = self._home / "secret"
        secret.write_text(PASSWORD)
        if self._user:
            owner = pwd.getpwnam(self._user)
            for path in (self._home, secret):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        try:
            self._run("initdb", "-N", "-A", "scram-sha-256", "-U", "resay", f"--pwfile={secret}")
            self._run("pg_ctl", "-w", "-l", self._home / "log", "-o", self._options, "start")
        except BaseException:
            shutil.rmtree(self._home)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")
        shutil.rmtree(self._home)

    @property
    def _options(self) -> str:
        return f"-c listen_addresses= -k {self._home} -F"

    def restart(self) -> None:
        """Restart the server, which closes all connections, as an update does."""
        self._run("pg_ctl", "-w", "-m", "fast", "-l", self._home / "log", "restart")

    def database(self, options: str = "") -> str:
        """Create a database, and return its address."""
        import psycopg

        name = f"test_{uuid4().hex}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} {options}".encode())
        return self.url(name)

    def url(self, database: str) -> str:
        """Return the address of a database."""
        return f"postgresql://resay:{quote(PASSWORD, safe='')}@/{database}?host={self._home}"

    def _run(self, program: str, *arguments: str | Path) -> None:
        # The output goes to a file, because the server would keep a pipe open.
        with (self._home / "out").open("w") as out:
            subprocess.run(
                [self._programs / program, "-D", self._data, *arguments],
                check=True,
                cwd="/",
                user=self._user,
                group=self._user,
                extra_groups=[] if self._user else None,
                stdout=out,
                stderr=out,
                timeout=60,
            )
