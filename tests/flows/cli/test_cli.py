"""The command line: output, exit codes, sentences."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.support.command_line import Done, called, started

REFUND = ["stripe/create_refund"]
QUERY = {"id": "1", "query": "undo a payment", "kind": "single", "required": REFUND, "acceptable": REFUND}


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Done]:
    """Call `quartermaster` in an empty folder."""
    return partial(called, tmp_path)


def failed(done: Done, code: int) -> str:
    """The one sentence of a failure: nothing on standard output, no traceback."""
    assert done.returncode == code, done.stderr
    assert done.stdout == "" and "Traceback" not in done.stderr
    return done.stderr


def test_build_prints_the_snapshots_folder_last(
    run: Callable[..., Done], catalog_folder: Path, encoder_folder: Path, workspace: Path, tmp_path: Path
) -> None:
    # Its ledger has every vector: nothing is left to embed.
    shutil.copytree(workspace, tmp_path / "ws")
    build = ("build", catalog_folder, "--encoder", encoder_folder, "--workspace", tmp_path / "ws")
    done = run(*build, "--force")
    assert done.returncode == 0, done.stderr
    folder = Path(done.stdout.splitlines()[-1])
    assert (folder / "manifest.json").is_file()
    assert "8 of 8 records" in done.stdout
    assert "0 new, 0 changed, 0 removed since 20" in done.stdout
    report = json.loads(run(*build, "--json").stdout)
    assert (report["outcome"], report["embedded"], report["snapshot"]) == ("unchanged", 0, str(folder))


def test_build_ends_with_what_was_read_of_each_source(run: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "fine.json").write_text('[{"name": "a", "description": "Does a.", "parameters": {"x": "(string) x"}}]')
    (tmp_path / "lost.json").write_text('[{"name": "b", "args": "--to WHOM", "usage_hint": "at night"}]')
    (tmp_path / "none.json").write_text("[]")
    (tmp_path / "odd.jsonl").write_text('{"api_name": "c"}\n')
    done = run("build", tmp_path, "--encoder", "none", "--generator", "lexicon", COLUMNS="120")
    table = [line.split() for line in done.stdout.splitlines()]
    assert "source records tools described parameters rejected not read".split() in table
    assert ["fine.json", "1", "1", "1", "1", "0", "–"] in table
    assert ["lost.json", "1", "1", "0", "0,", "1", "lost", "0", "args,", "usage_hint"] in table
    assert ["none.json", "0", "0", "0", "0", "0", "no", "tool"] in table
    assert ["all", "4", "sources", "3", "2", "1", "1,", "1", "lost", "1"] in table
    assert "lost.json: 1 of 1 tools declare parameters under `args` that could not be read" in done.stderr
    assert "lost.json: keys that were not read: usage_hint (1: at night)" in done.stderr
    assert "odd.jsonl: none of the 1 records has a name. Their keys are `api_name`: say in catalog.toml" in done.stderr
    report = json.loads(run("build", tmp_path, "--encoder", "none", "--generator", "lexicon", "--json").stdout)
    assert list(report["coverage"]) == ["fine.json", "lost.json", "none.json", "odd.jsonl"]
    assert report["coverage"]["lost.json"]["lost_parameters"] == 1 and report["coverage"]["fine.json"]["problems"] == []


def test_a_file_whose_records_have_no_name_says_how_to_map_it(run: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "odd.jsonl").write_text('{"api_name": "c", "functionality": "Does c."}\n')
    said = failed(run("build", tmp_path / "odd.jsonl", "--encoder", "none"), 3)
    assert (
        "holds no tool: odd.jsonl: none of the 1 records has a name. Their keys are `api_name`, `functionality`" in said
    )
    assert '[source.fields] name = "api_name"' in said
    assert said.endswith(failed(run("build", tmp_path / "odd.jsonl", "--encoder", "none", "--plan"), 3))


def test_search_lists_tools_and_prints_json_for_programs(run: Callable[..., Done], workspace: Path) -> None:
    table = run("search", "which cards were declined", "-k", 2, "--workspace", workspace)
    assert table.returncode == 0 and "stripe/list_charges" in table.stdout
    assert "\x1b[" not in table.stdout
    answer = json.loads(run("search", "which cards were declined", "-k", 2, "--workspace", workspace, "--json").stdout)
    assert answer["tools"][0]["tool_id"] == "stripe/list_charges"
    assert len(answer["tools"]) == 2


@pytest.mark.parametrize("width", ["80", "200"])
def test_every_tool_id_is_readable_at_any_width(run: Callable[..., Done], workspace: Path, width: str) -> None:
    shown = run("search", "refund", "--workspace", workspace, COLUMNS=width).stdout
    assert "slack/conversations_list" in shown
    assert max(map(len, shown.splitlines())) <= int(width)


def test_explain_gives_ranks_by_signal(run: Callable[..., Done], workspace: Path) -> None:
    done = run("explain", "undo a payment", "--workspace", workspace, COLUMNS="160")
    assert done.returncode == 0
    assert all(column in done.stdout.splitlines()[0] for column in ("name", "description", "expansion", "dense"))
    # The nearest phrase of the first tool; the small encoder's vectors lie too close to say which.
    assert "stripe/create_refund" in done.stdout
    assert any(phrase in done.stdout for phrase in ("undo a payment", "give the customer", "Use it when"))


def test_explain_of_one_tool_says_where_it_stands(run: Callable[..., Done], workspace: Path) -> None:
    answer = json.loads(
        run("explain", "undo a payment", "weather/getForecast", "--workspace", workspace, "--json").stdout
    )
    assert answer["tool_id"] == "weather/getForecast" and answer["rank"] > 1


def test_evaluate_writes_the_figures(run: Callable[..., Done], catalog_folder: Path, tmp_path: Path) -> None:
    bench = shutil.copytree(catalog_folder, tmp_path / "office")
    (bench / "queries.jsonl").write_text(json.dumps(QUERY) + "\n", encoding="utf-8")
    arguments = ("evaluate", "--bench", bench, "--encoder", "none", "--json", tmp_path / "out.json")
    done = run(*arguments, "--recipe", "published")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert (result["bench"], result["recipe"], result["tools"]) == ("office", "published", 8)
    assert result["signals"]["expansion"]["hit@1"] == 1
    assert "multi@10" in done.stdout
    without = run(*arguments, "--without-expansions")
    assert without.returncode == 0, without.stderr
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["signals"]["expansion"]["hit@1"] is None


def test_snapshots_are_listed_verified_and_rolled_back(
    run: Callable[..., Done], catalog_folder: Path, tmp_path: Path
) -> None:
    catalog = shutil.copytree(catalog_folder, tmp_path / "office")
    build = ("build", catalog, "--encoder", "none", "--json")
    first = Path(json.loads(run(*build).stdout)["snapshot"]).name
    (catalog / "tools.jsonl").write_text(
        (catalog / "tools.jsonl").read_text(encoding="utf-8").replace("charges", "payments"), encoding="utf-8"
    )
    second = Path(json.loads(run(*build).stdout)["snapshot"]).name
    listed = json.loads(run("snapshots", "--json").stdout)
    assert [(row["snapshot"], row["current"], row["sequence"]) for row in listed] == [
        (second, True, 2),
        (first, False, 1),
    ]
    assert all(row["own_bytes"] > row["shared_bytes"] for row in listed)
    rolled_back = run("snapshots", "office", "--rollback")
    assert rolled_back.returncode == 0 and f"{second}: rolled back from at 20" in " ".join(rolled_back.stdout.split())
    assert (tmp_path / ".quartermaster/snapshots/office/CURRENT").read_text(encoding="utf-8").strip() == first
    assert "nothing to roll back" in failed(run("snapshots", "--rollback"), 2)
    held = run(*build[:-1])
    assert held.returncode == 1 and f"quartermaster snapshots office --release {second}" in held.stderr
    assert run("snapshots", "--use", second, "--verify").returncode == 0
    assert [row["rolled_back"] for row in json.loads(run("snapshots", "--json").stdout)] == [None, None]
    records = tmp_path / ".quartermaster/snapshots/office" / first / "records.jsonl"
    records.write_bytes(records.read_bytes()[:-2])
    broken = run("snapshots", "--verify")
    assert broken.returncode == 4 and "corrupt" in " ".join(broken.stdout.split())


def test_a_snapshot_is_pinned_listed_as_such_and_unpinned(
    run: Callable[..., Done], catalog_folder: Path, tmp_path: Path
) -> None:
    built = run("build", catalog_folder, "--encoder", "none", "--json")
    name = Path(json.loads(built.stdout)["snapshot"]).name
    for pin in (("--pin",), ("--pin", name), (name, "--pin")):
        assert f"{name}: pinned since 20" in " ".join(run("snapshots", "office", *pin).stdout.split())
    (row,) = json.loads(run("snapshots", "--json").stdout)
    assert row["pinned"].startswith("20") and row["current"]
    unpinned = run("snapshots", "office", "--unpin")
    assert unpinned.returncode == 0 and "pinned" not in unpinned.stdout
    assert "no pinned snapshot" in failed(run("snapshots", "--unpin"), 2)
    assert "was not rolled back from" in failed(run("snapshots", "--release", name), 2)
    assert "has no snapshot 'x'" in failed(run("snapshots", "office", "--pin", "x"), 4)
    assert "only --pin and --sign take a snapshot" in failed(run("snapshots", "office", "x", "--rollback"), 2)
    assert "give one" in failed(run("snapshots", "--pin", "--unpin"), 2)


def test_among_several_catalogs_the_one_built_last_answers_unless_another_is_named(
    run: Callable[..., Done], tmp_path: Path
) -> None:
    for name in ("old", "new"):  # in one second: the number tells which is later
        row = {"id": f"{name}/send", "name": "send", "description": f"Sends a {name} message.", "provider": name}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
        assert run("build", f"{name}.jsonl", "--encoder", "none").returncode == 0
    said = 'Using the catalog "{}", built last; --catalog NAME or QUARTERMASTER_CATALOG chooses another\n'
    for command in (["search", "send", "--json"], ["explain", "send", "--json"], ["inspect", "--json"]):
        done = run(*command)
        assert (done.returncode, done.stderr) == (0, said.format("new"))
        assert "new/" in done.stdout or '"catalog": "new"' in done.stdout
        for done in (run(*command, "--catalog", "old"), run(*command, QUARTERMASTER_CATALOG="old")):
            assert (done.returncode, done.stderr) == (0, "")
            assert "new/" not in done.stdout and '"catalog": "new"' not in done.stdout
        assert "new" in run(*command, "--catalog", "new", QUARTERMASTER_CATALOG="old").stdout
        assert run(*command, QUARTERMASTER_CATALOG="").stderr == said.format("new")
    wrong = failed(run("search", "send", QUARTERMASTER_CATALOG="third"), 4)
    assert "'third' (from QUARTERMASTER_CATALOG)" in wrong and "new, old" in wrong
    # What serves is never changed by a guess.
    assert "new, old" in failed(run("snapshots", "--rollback"), 2)
    assert "nothing to roll back to" in failed(run("snapshots", "--rollback", QUARTERMASTER_CATALOG="old"), 2)
    assert len(json.loads(run("snapshots", "--json").stdout)) == 2


def test_as_a_process_it_answers_and_fails_as_when_it_is_called(
    run: Callable[..., Done], workspace: Path, tmp_path: Path
) -> None:
    for command in (["search", "refund"], ["search", "refund", "-k", "0"], ["snapshots", "--json"]):
        arguments = [*command, "--workspace", workspace]
        here, there = run(*arguments), started(tmp_path, *arguments)
        assert (here.returncode, here.stdout, here.stderr) == (there.returncode, there.stdout, there.stderr)
    assert [started(tmp_path, *command).returncode for command in ([], ["search", "refund"])] == [2, 4]


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["build", "nowhere"], 2, "nowhere does not exist"),
        (["build", "{catalog}", "--generator", "magic"], 2, "enrichment.generator"),
        (["build", "{catalog}", "--encoder", "nobody/none-such"], 3, "nobody/none-such"),
        (["build", "{catalog}", "--encoder", "none", "--workspace", "/proc/nowhere"], 2, "--workspace"),
        (["search", "refund"], 4, "quartermaster build"),
        (["search", "refund", "--snapshot", "nowhere"], 4, "does not exist"),
        (["search", "", "--workspace", "{workspace}"], 2, "empty"),
        (["search", "refund", "-k", "0", "--workspace", "{workspace}"], 2, "k is 0"),
        (["search", "refund", "--recipe", "best", "--workspace", "{workspace}"], 2, "published"),
        (["evaluate", "--bench", "{catalog}"], 2, "queries.jsonl"),
        (["explain", "refund", "no/tool", "--workspace", "{workspace}"], 2, "no/tool"),
        (["explain", "refund", "no/tool", "--category", "x", "--workspace", "{workspace}"], 2, "leave out --category"),
        (["snapshots", "nothing", "--workspace", "{workspace}"], 4, "nothing"),
        (["snapshots", "--rollback", "--use", "x", "--workspace", "{workspace}"], 2, "--use"),
        (["evaluate", "--bench", "{catalog}", "--json", "nowhere/x.json"], 2, "queries.jsonl"),
    ],
)
def test_what_is_wrong_is_one_sentence_with_its_exit_code(
    run: Callable[..., Done],
    workspace: Path,
    catalog_folder: Path,
    arguments: list[str],
    code: int,
    sentence: str,
) -> None:
    filled = [argument.format(catalog=catalog_folder, workspace=workspace) for argument in arguments]
    assert sentence in failed(run(*filled), code)


def test_an_error_that_was_not_foreseen_is_a_line_and_exits_with_70(
    run: Callable[..., Done], workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("what\nno one \x1b[2J foresaw")

    monkeypatch.setattr("router.router.Router.route", fail)
    said = failed(run("search", "refund", "--workspace", workspace), 70)
    assert said == (
        "quartermaster: unforeseen error: ZeroDivisionError: what no one \ufffd[2J foresaw; "
        "QUARTERMASTER_TRACEBACK=1 prints where it arose\n"
    )
    traced = run("search", "refund", "--workspace", workspace, QUARTERMASTER_TRACEBACK="1")
    assert traced.returncode == 70 and "Traceback" in traced.stderr and "in fail" in traced.stderr


def test_evaluating_leaves_what_serves_alone(run: Callable[..., Done], catalog_folder: Path, tmp_path: Path) -> None:
    bench = shutil.copytree(catalog_folder, tmp_path / "office")
    (bench / "queries.jsonl").write_text(json.dumps(QUERY) + "\n", encoding="utf-8")
    assert run("build", bench, "--encoder", "none").returncode == 0
    before = (tmp_path / ".quartermaster/snapshots/office/CURRENT").read_text(encoding="utf-8")
    assert run("evaluate", "--bench", bench, "--encoder", "none", "--generator", "none").returncode == 0
    assert run("evaluate", "--bench", bench, "--encoder", "none", "--without-expansions").returncode == 0
    assert (tmp_path / ".quartermaster/snapshots/office/CURRENT").read_text(encoding="utf-8") == before
    assert [f.name for f in (tmp_path / ".quartermaster/snapshots").iterdir()] == ["office"]


def test_too_many_rejected_records_exit_with_one(
    run: Callable[..., Done], catalog_folder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(catalog_folder, tmp_path / "office")
    with (folder / "tools.jsonl").open("a", encoding="utf-8") as stream:
        stream.write("not json\n" * 3)
    done = run("build", folder, "--encoder", "none")
    assert done.returncode == 1 and "--use" in done.stderr
    assert failed(run("search", "refund"), 4)


def test_catalog_text_is_never_markup(run: Callable[..., Done], tmp_path: Path) -> None:
    row = {
        "id": "[/x]y",
        "name": "tool",
        "description": "[red]not red[/red] [/] \\[x] \u001b[2J\u202e",
        "provider": "[b]",
    }
    (tmp_path / "tools.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert run("build", "tools.jsonl", "--encoder", "none").returncode == 0
    for command in (["search", "red tool"], ["explain", "red tool"], ["explain", "red tool", "[/x]y"]):
        shown = run(*command, COLUMNS="200")
        assert shown.returncode == 0 and "[/x]y" in shown.stdout, shown.stderr
        assert "\x1b" not in shown.stdout and "\u202e" not in shown.stdout
    assert "[red]not red[/red] [/]" in run("search", "red tool", COLUMNS="200").stdout
