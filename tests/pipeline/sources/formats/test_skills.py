"""Folders of agent skills: what is read of each SKILL.md, and what one broken skill costs."""

import os
from pathlib import Path

import pytest

from pipeline.errors import RunAborted
from pipeline.sources import RawTool
from pipeline.sources.formats import detect, skills
from router.record import Kind, Origin
from tests.pipeline.sources.reading import apart, tools
from tests.support.skills import HOSTILE_DESCRIPTION, write_skills

PDF = """---
name: pdf-forms
description: Fill in PDF forms and merge PDF files.
license: Apache-2.0
metadata:
  version: "1.0"
---

# PDF forms

Run `scripts/fields.py FILE` first.
"""


def skill(folder: Path, name: str, text: str) -> Path:
    (folder / name).mkdir(parents=True)
    file = folder / name / "SKILL.md"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_skill_has_its_frontmatter_its_instructions_and_the_names_of_its_files(tmp_path: Path) -> None:
    file = skill(tmp_path, "pdf", PDF)
    (file.parent / "scripts").mkdir()
    (file.parent / "scripts" / "fields.py").write_text("print()", encoding="utf-8")
    (file.parent / ".cache").write_text("", encoding="utf-8")
    assert tools(skills.read(tmp_path)) == [
        RawTool(
            name="pdf-forms",
            origin=Origin("pdf/SKILL.md", ""),
            description="Fill in PDF forms and merge PDF files.",
            annotations={
                "license": "Apache-2.0",
                "metadata": {"version": "1.0"},
                "files": ["scripts/fields.py"],
                "readOnlyHint": True,
            },
            kind=Kind.SKILL,
            instructions="# PDF forms\n\nRun `scripts/fields.py FILE` first.",
        )
    ]
    assert tools(skills.read(file))[0].name == "pdf-forms"


def test_a_folder_and_a_file_of_skills_are_told_by_their_content(tmp_path: Path) -> None:
    file = skill(tmp_path / "full", "office/pdf", PDF)
    assert detect(tmp_path / "full") == detect(file) == "skills"
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunAborted, match="is a folder"):
        detect(tmp_path / "empty")
    with pytest.raises(RunAborted, match=r"holds no SKILL\.md"):
        list(skills.read(tmp_path / "empty"))


def test_a_skill_without_frontmatter_has_the_name_of_its_folder_and_its_first_paragraph(tmp_path: Path) -> None:
    skill(tmp_path, "closing", "# Closing\n\nHow to close the books\nof a month.\n\n---\n\n1. Print.\n")
    (read,) = tools(skills.read(tmp_path))
    assert (read.name, read.description) == ("closing", "How to close the books of a month.")
    assert read.instructions.endswith("---\n\n1. Print.")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("---\nname: x\ndescription: y\ndisable-model-invocation: true\n---\nz", "models do not choose it"),
        ("---\nname: x\n---\n# Only a heading\n", "neither a description nor instructions"),
        ("---\nname: [a]\ndescription: y\n---\nz", "name is a list, not a text"),
        ("\ufeff", "neither a description nor instructions"),
        ("---\nname: x\ndescription: y\nz", "its frontmatter has no end"),
        # Agents accept what is no YAML, and a skill that is hidden there stays hidden.
        ("---\nargument-hint: [a] [b]\ndescription: y\ndisable-model-invocation: true\n---\nz", "models do not choose"),
        ("---\ndescription: Use when: y\ndisable-model-invocation: True\n---\nz", "models do not choose it"),
        ('---\ndescription: y\ndisable-model-invocation: "true"\n---\nz', "models do not choose it"),
    ],
)
def test_a_skill_that_cannot_be_used_is_rejected_alone(tmp_path: Path, text: str, reason: str) -> None:
    skill(tmp_path, "a", text)
    skill(tmp_path, "b", PDF)
    read, rejected = apart(skills.read(tmp_path))
    assert read == ["pdf-forms"]
    assert len(rejected) == 1
    assert rejected[0].startswith("a/SKILL.md") and reason in rejected[0]


def test_long_instructions_are_cut_with_a_notice(tmp_path: Path) -> None:
    skill(tmp_path, "long", PDF + "x" * skills.MAX_INSTRUCTIONS)
    (read,) = tools(skills.read(tmp_path))
    assert len(read.instructions) == skills.MAX_INSTRUCTIONS
    assert "the first 100,000 are kept" in read.notices[0]


def test_links_that_lead_in_a_circle_are_followed_once_and_inner_and_hidden_folders_are_no_skills(
    tmp_path: Path,
) -> None:
    skill(tmp_path / "here", "pdf", PDF)
    skill(tmp_path / "elsewhere", "brand", PDF.replace("pdf-forms", "brand"))
    skill(tmp_path, "here/pdf/templates/inner", PDF)
    skill(tmp_path, "here/.git/old", PDF)
    os.symlink(tmp_path / "elsewhere", tmp_path / "here" / "linked")
    os.symlink(tmp_path / "here", tmp_path / "elsewhere" / "back")
    assert [read.name for read in tools(skills.read(tmp_path / "here"))] == ["brand", "pdf-forms"]


def test_skills_as_people_write_them_are_read(tmp_path: Path) -> None:
    read = {item.name: item for item in tools(skills.read(write_skills(tmp_path)))}
    assert list(read) == [
        "Brand Guidelines",
        "invoice-ocr",
        "meeting-minutes",
        "reisekosten",
        "release-notes",
        "secret-rotator",
    ]
    assert len(read["Brand Guidelines"].instructions.splitlines()) == 300
    assert read["invoice-ocr"].annotations["files"] == ["references/tax.md", "scripts/extract.py"]
    assert read["invoice-ocr"].description.endswith(
        "a photo or a PDF of a bill and wants its numbers in a spreadsheet."
    )
    assert read["meeting-minutes"].instructions == "# Minutes\n\n1. Find who spoke."
    assert read["meeting-minutes"].annotations["allowed-tools"] == ["Read", "Write"]
    assert read["reisekosten"].description.startswith("Prüft")
    assert read["secret-rotator"].description == HOSTILE_DESCRIPTION.strip()  # screened where it is used
    notes = read["release-notes"]
    assert notes.description == (
        "Draft release notes from merged pull requests. Use this when somebody is about to publish a version. "
        "Somebody asks what changed since the last version."
    )
    assert notes.annotations == {
        "argument-hint": "[version] [audience]",
        "allowed-tools": "Bash(git log:*), Read, Grep",
        "model": "opus",
        "user-invocable": True,
        "readOnlyHint": True,
    }
    assert [item.name for item in read.values() if item.notices] == ["release-notes"]


def test_a_link_to_another_file_a_pipe_and_what_is_no_text_cost_themselves_alone(tmp_path: Path) -> None:
    (tmp_path / "id_rsa").write_text("A secret of this machine.", encoding="utf-8")
    for name, target in (("a", tmp_path / "id_rsa"), ("b", tmp_path / "gone")):
        (tmp_path / "skills" / name).mkdir(parents=True)
        os.symlink(target, tmp_path / "skills" / name / "SKILL.md")
    (tmp_path / "skills" / "c").mkdir()
    os.mkfifo(tmp_path / "skills" / "c" / "SKILL.md")
    skill(tmp_path / "skills", "d", "").write_bytes(b"\xff\xfe\x00")
    fields = "files: [etc]\nreadOnlyHint: false\n"  # they take the place of nothing that is set here
    skill(tmp_path / "skills", "e", f"---\nname: e\ndescription: Use when: y\n{fields}---\nz")
    read, rejected = apart(skills.read(tmp_path / "skills"))
    assert read == ["e"] and tools(skills.read(tmp_path / "skills" / "e"))[0].annotations == {"readOnlyHint": True}
    told = ["it is a link to a file of another name"] * 2 + ["it is not a plain file", "UTF-16"]
    assert all(why in reason for why, reason in zip(told, rejected, strict=True))
