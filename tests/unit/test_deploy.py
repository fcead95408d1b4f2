"""What deploy/ says is true: settings exist, commands parse, numbers are exported, the tools agree."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from fixtures import _plain_yaml as plain_yaml
from fixtures._plain_yaml import NotPlain
from foldlog import exposition
from foldlog.cli.main import build
from foldlog.metrics import METRICS
from foldlog.settings import Settings, load, variable
from foldlog.workers.porter import LIVE_SECONDS
from foldlog.workers.queues import QUEUES
from foldlog.workers.readiness import STATES

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
UNITS = sorted(DEPLOY.glob("systemd/*.service"))
SETTINGS = {variable(item.name) for item in fields(Settings)}

EXPORTED = {series for name in METRICS for series in exposition.exported(name)}


def unit(path: Path) -> dict[str, dict[str, list[str]]]:
    """Return section -> name -> values of a systemd unit."""
    found: dict[str, dict[str, list[str]]] = {}
    section: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            name, mark, value = line.partition("=")
            assert mark, line
            section.setdefault(name, []).append(value)
    return found


def compose() -> dict[str, Any]:
    found: dict[str, Any] = plain_yaml.read(DEPLOY / "compose.yaml")
    return found


def rules() -> list[dict[str, Any]]:
    groups = plain_yaml.read(DEPLOY / "monitoring/rules.yaml")["groups"]
    return [rule for group in groups for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DEPLOY / "monitoring/dashboard.json").read_text())
    return found


def expressions() -> list[str]:
    panels = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    return [rule["expr"] for rule in rules()] + panels


def command_lines() -> list[list[str]]:
    """Return the arguments of every foldlog command in deploy/."""
    found = [shlex.split(line)[1:] for path in UNITS for line in unit(path)["Service"]["ExecStart"]]
    services = compose()["services"].values()
    found += [service["command"] for service in services if service["image"] == "foldlog"]
    (line,) = re.findall(r"^CMD (.+)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    return [*found, json.loads(line)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_setting_exists(path: Path) -> None:
    """A slip would be read by nobody."""
    assert set(re.findall(r"FOLDLOG_[A-Z_]+", path.read_text())) <= SETTINGS


@pytest.mark.parametrize("arguments", command_lines(), ids=" ".join)
def test_every_command_parses(arguments: list[str]) -> None:
    """As foldlog itself would read it, queues included."""
    found = build().parse_args(arguments)
    assert set(getattr(found, "queues", None) or []) <= set(QUEUES)


@pytest.mark.parametrize("expression", expressions())
def test_every_number_is_exported(expression: str) -> None:
    """Under this very name; and a state is one that an index can be in."""
    names = set(re.findall(r"\bfoldlog_\w+", expression))
    assert names
    assert names <= EXPORTED
    assert set(re.findall(r'state="(\w+)"', expression)) <= set(STATES)
    assert expression.count("(") == expression.count(")")


def test_alerts_say_what_to_do() -> None:
    """Each has a name of its own, somebody it is for, and text that explains it."""
    found = rules()
    assert len({rule["alert"] for rule in found}) == len(found)
    for rule in found:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert set(rule["annotations"]) == {"summary", "description"}
        assert re.fullmatch(r"\d+m", rule.get("for", "1m"))
    told = " ".join(rule["alert"] for rule in found)
    for subject in ("Lag", "Stalled", "Diverged", "Parked", "NoWorker", "Doorbell", "DegradedRecalls"):
        assert subject in told


def test_the_dashboard_is_one() -> None:
    """No panel hides another, and all ask the data source that is chosen."""
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = set()
    for panel in panels:
        grid = panel["gridPos"]
        assert grid["x"] + grid["w"] <= 24
        cells = {
            (x, y)
            for x in range(grid["x"], grid["x"] + grid["w"])
            for y in range(grid["y"], grid["y"] + grid["h"])
        }
        assert not cells & places
        places |= cells
        assert panel["datasource"]["uid"] == "${datasource}"


def test_scrapes_reach_the_services() -> None:
    """Every target is a service of compose.yaml, on the port that it is told to open."""
    services = compose()["services"]
    found = plain_yaml.read(DEPLOY / "monitoring/prometheus.yaml")
    assert found["rule_files"] == ["rules.yaml"]
    for target in found["scrape_configs"][0]["static_configs"][0]["targets"]:
        host, port = target.split(":")
        assert services[host]["environment"]["FOLDLOG_HTTP_PORT"] == port
        assert services[host]["environment"]["FOLDLOG_HTTP_HOST"] == "0.0.0.0"


def test_compose_keeps_what_must_be_kept() -> None:
    """Services restart, wait for what they need, and have the time that a worker may take to stop."""
    found = compose()
    services = found["services"]
    for name, service in services.items():
        assert service["restart"] == ("no" if name == "migrate" else "unless-stopped")
        for needed, condition in service.get("depends_on", {}).items():
            assert needed in services
            if condition["condition"] == "service_healthy":
                assert "test" in services[needed]["healthcheck"]
    used = {volume.split(":")[0] for service in services.values() for volume in service.get("volumes", [])}
    assert used == set(found["volumes"])
    for name in ("worker", "embed"):
        grace = int(services[name]["stop_grace_period"].removesuffix("s"))
        assert grace > Settings().shutdown_ms / 1000
        assert services[name]["env_file"] == "foldlog.env"
    # Who folds must reach the log's file, and the file is where the settings say.
    log = services["worker"]["environment"]["FOLDLOG_LOG"]
    assert f"memory:{Path(log).parent}" in services["worker"]["volumes"]
    assert log == services["migrate"]["environment"]["FOLDLOG_LOG"]


def test_no_secret_is_in_the_repository() -> None:
    """The example's password says that it is to be changed, and the real file is not tracked."""
    values = dict(
        line.split("=", 1)
        for line in (DEPLOY / "foldlog.env.example").read_text().splitlines()
        if line and not line.startswith("#")
    )
    assert values.pop("POSTGRES_PASSWORD") == "change-me"
    assert "foldlog.env" in (ROOT / ".gitignore").read_text()
    # What is left are settings that foldlog takes.
    load(environ=values, folder=DEPLOY)
    assert "change-me@" in values["FOLDLOG_DATABASE_URL"]


def test_the_image_runs_as_a_user_of_its_own() -> None:
    """Slim, not as root, and asked for its health on the port that it opens."""
    text = (DEPLOY / "Dockerfile").read_text()
    assert re.findall(r"^FROM (\S+)", text, re.MULTILINE) == ["python:3.13-slim", "python:3.13-slim"]
    assert re.findall(r"^USER (\d+)$", text, re.MULTILINE) == ["10001"]
    assert text.index("USER 10001") < text.index("ENTRYPOINT")
    (port,) = re.findall(r"FOLDLOG_HTTP_PORT=(\d+)", text)
    assert f"127.0.0.1:{port}/healthz" in text
    assert f"EXPOSE {port}" in text


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units_restart_and_watch(path: Path) -> None:
    """Whatever ends, or stands still, is started again; and only the command is told to stop."""
    found = unit(path)
    service = {name: values[-1] for name, values in found["Service"].items()}
    assert service["Type"] == "notify"
    assert service["NotifyAccess"] == "all"
    assert service["Restart"] == "always"
    assert service["KillMode"] == "mixed"
    assert float(service["WatchdogSec"]) >= LIVE_SECONDS
    assert float(service["TimeoutStopSec"]) > Settings().shutdown_ms / 1000
    assert found["Unit"]["StartLimitIntervalSec"] == ["0"]
    assert found["Install"]["WantedBy"] == ["multi-user.target"]
    assert service["User"] == "foldlog"


def test_two_workers_on_a_host_have_ports_of_their_own() -> None:
    """Else the second would not start."""
    text = " ".join(path.read_text() for path in UNITS)
    ports = re.findall(r"FOLDLOG_HTTP_PORT=(\d+)", text)
    assert len(set(ports)) == len(UNITS)


def _systemd(folder: Path) -> None:
    """Let systemd look at the units; the program they start is not installed here."""
    for path in UNITS:
        copy = folder / path.name
        copy.write_text(path.read_text().replace("/opt/foldlog/bin/foldlog", "/bin/true"))
        done = subprocess.run(
            ["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), path.name


def _prometheus(folder: Path) -> None:
    for kind, name in (("rules", "rules.yaml"), ("config", "prometheus.yaml")):
        subprocess.run(["promtool", "check", kind, DEPLOY / "monitoring" / name], check=True)


def _compose(folder: Path) -> None:
    for name in ("compose.yaml", "foldlog.env.example"):
        shutil.copy(DEPLOY / name, folder / name.removesuffix(".example"))
    subprocess.run(["docker", "compose", "config", "--quiet"], cwd=folder, check=True)


def _works(*command: str) -> bool:
    found = shutil.which(command[0])
    return found is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0


#: What checks deploy/, and how one sees that it is here.
TOOLS = {
    _systemd: ("systemd-analyze", "--version"),
    _prometheus: ("promtool", "--version"),
    _compose: ("docker", "compose", "version"),
}


@pytest.mark.parametrize(
    "check", [check for check, asked in TOOLS.items() if _works(*asked)], ids=lambda check: check.__name__[1:]
)
def test_the_tools_that_are_here_agree(tmp_path: Path, check: Any) -> None:
    """The tests above hold without any of them."""
    check(tmp_path)


@pytest.mark.parametrize(
    "text",
    ["a: {b: 1}", "a: 1\na: 2", "a: 'b'", "a:\n\t- b", "a: b: c", "a: 1\n  b: 2", "- a\nb: 1", "a: *b"],
)
def test_what_is_not_plain_is_refused(tmp_path: Path, text: str) -> None:
    """The reader of these tests does not guess."""
    path = tmp_path / "some.yaml"
    path.write_text(text)
    with pytest.raises(NotPlain):
        plain_yaml.read(path)


def test_what_is_plain_is_read(tmp_path: Path) -> None:
    """As YAML reads it."""
    path = tmp_path / "some.yaml"
    text = '# c\na:\n  - b: 1\n    c: ["x", "y"]\n  - d: >-\n      one\n      two\n'
    text += 'e: "f: #g"\nh: x == 1\ni:\nj: true\n'
    path.write_text(text)
    assert plain_yaml.read(path) == {
        "a": [{"b": 1, "c": ["x", "y"]}, {"d": "one two"}],
        "e": "f: #g",
        "h": "x == 1",
        "i": None,
        "j": True,
    }
