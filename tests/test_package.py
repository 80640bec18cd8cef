"""The distribution: its name, its version, the package `quartermaster`, and a project with a `router` of its own."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

import quartermaster
import router
from router.distribution import NAME, install_command, version
from tests.support.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOREIGN = "def route(): ...\n"


def run(folder: Path, *arguments: str, path: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    """Run Python in a folder, with Quartermaster on the path behind it."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PYTHONPATH": str(path), "PATH": "/usr/bin:/bin"},
    )


def test_the_package_has_all_that_the_router_exports() -> None:
    assert set(quartermaster.__all__) == {*router.__all__, "__version__"}
    assert all(getattr(quartermaster, name) is getattr(router, name) for name in router.__all__)
    assert set(quartermaster.__all__) <= set(dir(quartermaster))
    names: dict[str, object] = {}
    exec("from quartermaster import *", names)
    assert names["Router"] is router.Router
    with pytest.raises(AttributeError, match="no attribute 'Routr'"):
        quartermaster.Routr  # type: ignore[attr-defined]  # noqa: B018


def test_name_and_version_are_those_of_the_project() -> None:
    assert PROJECT["project"]["name"] == NAME
    assert quartermaster.__version__ == router.__version__ == version() == PROJECT["project"]["version"]


def test_the_version_is_looked_up_when_it_is_asked_for(tmp_path: Path) -> None:
    code = "import sys, router; print('importlib.metadata' in sys.modules, router.__version__)"
    assert run(tmp_path, "-S", "-c", "import sys; print('importlib.metadata' in sys.modules)").stdout == "False\n"
    assert run(tmp_path, "-c", code).stdout == f"False {version()}\n"


def test_a_checkout_that_is_not_installed_has_the_version_of_its_project_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("router.distribution.NAME", "a-distribution-that-nobody-installs")
    assert router.__version__ == PROJECT["project"]["version"]


def test_neither_a_project_file_nor_an_installation_leaves_the_version_unknown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("router.distribution.NAME", "a-distribution-that-nobody-installs")
    monkeypatch.setattr("router.distribution.__file__", str(tmp_path / "router" / "distribution.py"))
    assert router.__version__ == "0+unknown"


def test_router_has_no_attribute_that_it_does_not_have() -> None:
    with pytest.raises(AttributeError, match="module 'router' has no attribute 'Routr'"):
        router.Routr  # type: ignore[attr-defined]  # noqa: B018


def test_a_hint_says_what_can_be_typed_today() -> None:
    assert install_command("build") == "pip install '.[build]' in a checkout of Quartermaster"


@pytest.mark.parametrize("package", ["quartermaster", "router", "pipeline", "flows"])
def test_every_package_is_marked_as_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_every_folder_with_modules_is_listed_for_the_wheel() -> None:
    tops = ("quartermaster", "router", "pipeline", "flows")
    folders = {file.parent.relative_to(ROOT) for top in tops for file in (ROOT / top).rglob("__init__.py")}
    patterns = PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    names = {".".join(folder.parts) for folder in folders}
    assert {name for name in names if not any(fnmatchcase(name, pattern) for pattern in patterns)} == set()
    assert not any(fnmatchcase(other, pattern) for other in ("tests", "benchmarks", "routers") for pattern in patterns)


def test_the_wheel_has_the_files_that_are_no_modules_and_nothing_beside_the_packages(tmp_path: Path) -> None:
    tops = ("quartermaster", "router", "pipeline", "flows")
    for top in tops:
        shutil.copytree(ROOT / top, tmp_path / top, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    done = run(tmp_path, "-c", "from setuptools import build_meta; print(build_meta.build_wheel('.'))")
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(tmp_path / done.stdout.splitlines()[-1]) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    files = {path.relative_to(tmp_path).as_posix() for top in tops for path in (tmp_path / top).rglob("*")}
    cards = "router/encoding/tools_encoder/"  # the model card is one of its files
    wanted = {
        name for name in files if (tmp_path / name).is_file() and (name.startswith(cards) or not name.endswith(".md"))
    }
    assert held == wanted
    assert {f"{top}/py.typed" for top in tops} <= held


def test_the_command_line_runs_as_a_module(tmp_path: Path) -> None:
    done = run(tmp_path, "-m", "quartermaster", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{version()}\n", "")


@pytest.mark.parametrize("foreign", ["router.py", "router/__init__.py", "router/routes.py"])
def test_a_project_with_a_router_of_its_own_is_told_where_it_is_and_the_way_out(tmp_path: Path, foreign: str) -> None:
    own = tmp_path / foreign
    own.parent.mkdir(exist_ok=True)
    own.write_text(FOREIGN, encoding="utf-8")
    # A folder without an __init__.py gives way to a package that stands later on the path.
    hides = foreign != "router/routes.py"
    done = run(tmp_path, "-c", "from quartermaster import Router; print(Router.__module__)")
    if not hides:
        assert (done.returncode, done.stdout) == (0, "router.router\n"), done.stderr
        return
    assert done.returncode == 1
    found = own if foreign == "router.py" else own.parent
    assert f"ImportError: Quartermaster needs its own package 'router' (in {ROOT})" in done.stderr
    assert f"but Python finds {found}" in done.stderr
    assert "-P" in done.stderr and "serve http" in done.stderr
    as_module = run(tmp_path, "-m", "quartermaster", "--version")
    assert (as_module.returncode, as_module.stdout) == (2, "") and str(found) in as_module.stderr
    assert "Traceback" not in as_module.stderr
    # The ways out that the message names.
    for safe in (
        run(tmp_path, "-P", "-c", "from quartermaster import Router; print(Router.__module__)"),
        run(tmp_path, "-P", "-m", "quartermaster", "--version"),
    ):
        assert safe.returncode == 0, safe.stderr


def test_a_router_that_was_imported_before_is_told_too(tmp_path: Path) -> None:
    (tmp_path / "router.py").write_text(FOREIGN, encoding="utf-8")
    done = run(tmp_path, "-c", "import router\nimport sys\nsys.path.remove('')\nfrom quartermaster import Router")
    assert done.returncode == 1 and f"Python finds {tmp_path / 'router.py'}" in done.stderr


@pytest.mark.parametrize("package", ["pipeline", "flows"])
def test_the_command_line_needs_its_other_packages_too(tmp_path: Path, package: str) -> None:
    (tmp_path / f"{package}.py").write_text("", encoding="utf-8")
    done = run(tmp_path, "-m", "quartermaster", "--version")
    assert (done.returncode, done.stdout) == (2, "") and f"package '{package}'" in done.stderr
    assert run(tmp_path, "-c", "from quartermaster import Router").returncode == 0


def test_the_places_that_the_test_run_names_exist() -> None:
    from tests.conftest import GROUPS, LONGEST

    places = {place for group in (*GROUPS.values(), LONGEST) for place in group}
    assert {place for place in places if not (ROOT / place).exists()} == set()
