"""Ids that tools may have had before, by method and path."""

import pytest

from router.tools.definitions.raw_tool import normalize
from router.tools.naming import former_ids
from tests.support.factories import make_raw


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ({"get_emp_mgr": "/emp/{id}/mgr"}, {"get_-emp-id-mgr": "get_emp_mgr", "get_emp_by_id_mgr": "get_emp_mgr"}),
        ({"get_/emp": "/emp"}, {"get_emp": "get_-emp"}),  # in a snapshot of before
        ({"getManager": "/emp/{id}/mgr"}, {}),  # it has an operationId
        ({"get_emp": "/emp", "get_/emp": ""}, {}),  # another tool has the id today
        ({"get_by_a_b": "/{a}/b", "get_by_c_b": "/{c}/b"}, {"get_-a-b": "get_by_a_b", "get_-c-b": "get_by_c_b"}),
    ],
)
def test_a_former_id_leads_to_the_one_tool_that_had_it(paths: dict[str, str], expected: dict[str, str]) -> None:
    tools = (make_raw(name, annotations={"method": "GET", "path": path}) for name, path in paths.items())
    assert former_ids(map(normalize, tools)) == expected
