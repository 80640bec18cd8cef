"""Which tools take what a tool that meets a need takes, and which say that they meet it."""

import pytest

from router.record import Parameter
from router.tools.implicit_needs import ImplicitNeed as Need
from router.tools.implicit_needs import fits_schema, meets_in_words, requires_date
from tests.support.factories import make_record


@pytest.mark.parametrize(
    ("need", "required", "optional", "fits"),
    [
        (Need.WRITE_FILE, "path content", "", True),
        (Need.WRITE_FILE, "path", "", False),  # reads or deletes
        (Need.WRITE_FILE, "path content project_id", "", False),  # in a project, not on a disk
        (Need.WRITE_FILE, "path original_content content", "", False),  # edits
        (Need.CURRENT_TIME, "", "", True),
        (Need.CURRENT_TIME, "timezone_name", "format", True),
        (Need.CURRENT_TIME, "time from_timezone to_timezone", "", False),  # converts
        (Need.CURRENT_USER, "", "fields", True),
        (Need.CURRENT_USER, "fields", "", False),
        (Need.CURRENT_USER, "", "query", False),
        (Need.SEND_MESSAGE, "channelId text", "thread_ts", True),
        (Need.SEND_MESSAGE, "channel", "before_message_id", False),  # lists
        (Need.SEND_MESSAGE, "messageId text", "", False),  # edits
        (Need.SIGN_IN, "username password", "", True),
        (Need.SIGN_IN, "old_password new_password", "", False),
    ],
)
def test_a_tool_fits_by_its_arguments(need: Need, required: str, optional: str, fits: bool) -> None:
    parameters = [Parameter(path, "string", required=True) for path in required.split()]
    parameters += [Parameter(path, "string") for path in optional.split()]
    assert fits_schema(need, make_record(parameters=tuple(parameters))) is fits


def test_arguments_inside_of_others_do_not_count() -> None:
    nested = (Parameter("body", "object", required=True), Parameter("body.path", "string", required=True))
    assert not fits_schema(Need.WRITE_FILE, make_record(parameters=nested))


def test_a_name_and_a_first_sentence_hold_all_terms_of_one_phrase() -> None:
    assert meets_in_words(Need.CURRENT_TIME, make_record("get_current_time", description="In a timezone."))
    assert meets_in_words(Need.WRITE_FILE, make_record("write", description="Saves the content to a file."))
    assert not meets_in_words(Need.CURRENT_TIME, make_record("get_weather", description="The weather in a timezone."))
    later = make_record("get_weather", description="Weather of a city. Use the current time in a timezone.")
    assert not meets_in_words(Need.CURRENT_TIME, later)


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        (Parameter("start_date", "string", required=True), True),
        (Parameter("since", "string", "When, as YYYY-MM-DD.", required=True), True),
        (Parameter("start_date", "string"), False),
        (Parameter("candidate", "string", required=True), False),
    ],
)
def test_a_date_that_must_be_given_is_required(parameter: Parameter, expected: bool) -> None:
    assert requires_date(make_record(parameters=(parameter,))) is expected
