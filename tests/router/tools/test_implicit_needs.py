"""Which tools take what a tool that meets a need takes, and which say that they meet it."""

import pytest

from router.record import Parameter
from router.tools.implicit_needs import ImplicitNeed as Need
from router.tools.implicit_needs import fits_schema, meets_in_words, requires_date
from tests.support.factories import make_record


def parameters(*required: str, optional: tuple[str, ...] = ()) -> tuple[Parameter, ...]:
    return (
        *(Parameter(path, "string", required=True) for path in required),
        *(Parameter(path, "string") for path in optional),
    )


@pytest.mark.parametrize(
    ("need", "required", "optional"),
    [
        (Need.WRITE_FILE, ("path", "content"), ()),
        (Need.WRITE_FILE, ("filePath", "fileContents"), ("encoding",)),
        (Need.CURRENT_TIME, (), ()),
        (Need.CURRENT_TIME, ("timezone_name",), ("format",)),
        (Need.CURRENT_USER, (), ("fields",)),
        (Need.SEND_MAIL, ("to", "subject", "body"), ("cc",)),
        (Need.SEND_MESSAGE, ("channelId", "text"), ("thread_ts",)),
        (Need.SIGN_IN, ("username", "password"), ()),
    ],
)
def test_a_tool_of_the_right_arguments_fits(need: Need, required: tuple[str, ...], optional: tuple[str, ...]) -> None:
    assert fits_schema(need, make_record(parameters=parameters(*required, optional=optional)))


@pytest.mark.parametrize(
    ("need", "required", "optional"),
    [
        (Need.WRITE_FILE, ("path",), ()),  # reads or deletes
        (Need.WRITE_FILE, ("path", "content", "project_id"), ()),  # in a project, not on a disk
        (Need.WRITE_FILE, ("path", "original_content", "content"), ()),  # edits
        (Need.CURRENT_TIME, ("stock_code",), ()),
        (Need.CURRENT_TIME, ("time", "from_timezone", "to_timezone"), ()),  # converts
        (Need.CURRENT_USER, ("user_id",), ()),
        (Need.CURRENT_USER, (), ("query",)),
        (Need.SEND_MESSAGE, ("channel",), ("before_message_id",)),  # lists
        (Need.SEND_MESSAGE, ("messageId", "text"), ()),  # edits
        (Need.SIGN_IN, ("old_password", "new_password"), ()),
        (Need.SIGN_IN, ("token",), ()),
    ],
)
def test_a_tool_of_other_arguments_does_not(need: Need, required: tuple[str, ...], optional: tuple[str, ...]) -> None:
    assert not fits_schema(need, make_record(parameters=parameters(*required, optional=optional)))


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
