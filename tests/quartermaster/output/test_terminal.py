"""What others wrote is data on a terminal: a name takes one line, and no character of it is a command."""

import json

import pytest

from quartermaster.output.answer import show_answer, show_explanation
from quartermaster.output.formatting import facts_table
from quartermaster.output.terminal import json_text, out, plain_lines, plain_text, print_err
from router import NeededBy, RoutedTool, RoutedTools, ToolRecord

BREAKS = "\r\n \r \n \x0b \x0c \x85 \u2028 \u2029".split(" ")
NAME = "pay/send\r\n1  bank/official"


@pytest.mark.parametrize("line_break", BREAKS)
def test_a_name_takes_one_line_whatever_breaks_it(line_break: str) -> None:
    assert plain_text(f"a{line_break}b").plain == "a b"
    assert plain_lines(f"a{line_break}\x1b[2Jb").plain == "a\n\N{REPLACEMENT CHARACTER}[2Jb"


def test_a_name_prints_no_row_of_its_own_in_a_table_or_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    tool = RoutedTool(NAME, ToolRecord(NAME, "pay", NAME, "Sends\r\nmoney."), 1.0, phrase=NAME, also_from=(NAME,))
    routed = RoutedTools((tool, tool), "s", "default", always=(tool,), notes=(NAME,))
    needed = RoutedTools((tool.__class__(NAME, tool.record, 1.0, needed_by=(NeededBy(NAME, NAME),)),), "s", "default")
    show_answer(routed)
    show_explanation(routed)
    show_answer(needed)
    out.print(facts_table([(NAME, NAME)]))
    print_err(f"gate: {NAME}")
    printed = capsys.readouterr()
    assert printed.out.count("bank/official") >= 10
    assert not any(line.startswith("1  bank") for line in (printed.out + printed.err).splitlines())


@pytest.mark.parametrize("mark", ["\x1b", "\x7f", "\x9b", "\u202e", "\u2028", "\u200b", "\U000e0041", "\ud800"])
def test_json_has_no_character_that_nobody_sees_and_means_the_same(mark: str) -> None:
    value = {f"k{mark}": [f"Café 日本 {mark}"]}
    text = json_text(value)
    assert text.isprintable() and "Café 日本" in text and json.loads(text) == value
