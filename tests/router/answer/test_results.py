"""How an answer looks at a prompt and in a notebook."""

from dataclasses import replace

from msgspec import structs

from router import Router


def test_an_answer_and_its_tools_are_shown_in_a_line(router: Router) -> None:
    routed = router.route("undo a payment", k=3)
    assert repr(routed).startswith(f"<RoutedTools: 3 of {routed.snapshot}") and len(repr(routed)) < 200
    assert all(tool_id in repr(routed) for tool_id in routed.ids)
    assert repr(routed[0]) == f"<RoutedTool stripe/create_refund, score {routed[0].score:.3f}>"
    assert repr(replace(routed, tools=routed.tools * 4)).endswith(", …>")


def test_a_notebook_shows_a_table_in_which_a_vendors_markup_is_text(router: Router) -> None:
    routed = router.route("undo a payment", k=1)
    hostile = structs.replace(routed[0], record=replace(routed[0].record, description="<script>alert(1)</script>"))
    shown = replace(routed, tools=(hostile,))._repr_html_()
    assert "<td>1</td><td>stripe/create_refund</td>" in shown and f"{routed[0].score:.3f}" not in shown
    assert "<script>" not in shown and "&lt;script&gt;" in shown
