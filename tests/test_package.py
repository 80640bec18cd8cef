"""The distribution: its names, its version, what its packages export, and a project with a `router` of its own."""

import doctest
import importlib
import inspect
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import quartermaster
import router
from router.distribution import NAME, version
from tests.support.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOREIGN = "def route(): ...\n"


def run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run Python in a folder, with Quartermaster on the path behind it."""
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=folder, env=environment)


def test_the_router_exports_what_it_lists_and_the_package_all_of_it() -> None:
    assert router.__all__ == sorted(router.__all__, key=lambda name: (not name.isupper(), name))
    public = {name: getattr(router, name) for name in dir(router) if not name.startswith("_")}
    known = {*router.__all__, "Any", "TYPE_CHECKING", "import_module"}
    assert {name for name, value in public.items() if not inspect.ismodule(value)} == known
    assert set(quartermaster.__all__) == {*router.__all__, "__version__"} <= set(dir(quartermaster))
    names: dict[str, object] = {}
    exec("from quartermaster import *", names)
    assert all(names[name] is getattr(router, name) for name in router.__all__)


@pytest.mark.parametrize("package", ["quartermaster", "router"])
def test_a_package_exports_lazily_what_it_lists_and_names_what_it_does_not_have(package: str) -> None:
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'no_such_name'"):
        module.no_such_name  # noqa: B018


def test_everything_public_has_a_docstring() -> None:
    for name in router.__all__:
        value = getattr(router, name)
        if inspect.isclass(value):
            assert inspect.getdoc(value), name
            for member, function in inspect.getmembers(value, inspect.isfunction):
                if not member.startswith("_") and function.__module__.startswith("router"):
                    assert inspect.getdoc(function), f"{name}.{member}"


def test_the_manual_runs_as_it_stands(snapshot: Path) -> None:
    manual = (router.__doc__ or "").replace(".quartermaster/snapshots/demo", str(snapshot))
    examples = doctest.DocTestParser().get_examples(manual)
    assert len(examples) >= 5
    names: dict[str, Any] = {}
    for example in examples:
        exec(example.source, names)
    assert len(names["routed"]) == 5


def test_name_and_version_are_those_of_the_project_and_the_version_is_looked_up_when_asked_for(tmp_path: Path) -> None:
    assert PROJECT["project"]["name"] == NAME
    assert quartermaster.__version__ == router.__version__ == version() == PROJECT["project"]["version"]
    code = "import sys, router; print('importlib.metadata' in sys.modules, router.__version__)"
    assert run(tmp_path, "-c", code).stdout == f"False {version()}\n"


def test_a_checkout_that_is_not_installed_has_the_version_of_its_project_file_if_it_has_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("router.distribution.NAME", "a-distribution-that-nobody-installs")
    assert router.__version__ == PROJECT["project"]["version"]
    monkeypatch.setattr("router.distribution.__file__", str(tmp_path / "router" / "distribution.py"))
    assert router.__version__ == "0+unknown"


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
    cards = "pipeline/encoders/tools_encoder/"  # the model card is one of its files
    wanted = {
        name for name in files if (tmp_path / name).is_file() and (name.startswith(cards) or not name.endswith(".md"))
    }
    assert held == wanted
    assert {f"{top}/py.typed" for top in tops} <= held


@pytest.mark.parametrize("foreign", ["router.py", "router/__init__.py"])
def test_a_project_with_a_router_of_its_own_is_told_where_it_is_and_the_way_out(tmp_path: Path, foreign: str) -> None:
    own = tmp_path / foreign
    own.parent.mkdir(exist_ok=True)
    own.write_text(FOREIGN, encoding="utf-8")
    asks = ("-c", "from quartermaster import Router; print(Router.__module__)")
    done = run(tmp_path, *asks)
    assert done.returncode == 1
    found = own if foreign == "router.py" else own.parent
    assert f"ImportError: Quartermaster needs its own package 'router' (in {ROOT})" in done.stderr
    assert f"but Python finds {found}" in done.stderr
    assert "-P" in done.stderr and "serve http" in done.stderr
    as_module = run(tmp_path, "-m", "quartermaster", "--version")
    assert (as_module.returncode, as_module.stdout) == (2, "") and str(found) in as_module.stderr
    assert "Traceback" not in as_module.stderr
    # The ways out that the message names.
    assert run(tmp_path, "-P", *asks).returncode == 0
    assert run(tmp_path, "-P", "-m", "quartermaster", "--version").stdout == f"{version()}\n"


def test_a_folder_of_scripts_that_is_named_router_gives_way(tmp_path: Path) -> None:
    (tmp_path / "router").mkdir()
    (tmp_path / "router" / "routes.py").write_text(FOREIGN, encoding="utf-8")
    done = run(tmp_path, "-c", "from quartermaster import Router; print(Router.__module__)")
    assert (done.returncode, done.stdout) == (0, "router.router\n"), done.stderr


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
