"""Choose among skills and tools in one ranking, and show what a model is handed before and after it calls a skill.

    pip install '.[build]'        (in a checkout of Quartermaster)
    python skills_and_tools/choose.py
    python skills_and_tools/choose.py "what changed for users" --kind skill

It stands in for the model: of the skills that it is given, it calls the first.
"""

import argparse
import os
from pathlib import Path

from pipeline.build import build
from pipeline.settings import load
from router import Router, Selection
from router.record import Kind

WORKSPACE = Path(os.environ.get("QUARTERMASTER_WORKSPACE", ".quartermaster"))
REQUEST = "hand in the expenses of my trip to Vienna"


def main() -> None:
    """Build the catalog, route a request, and print what a model is given before and after it calls a skill."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("request", nargs="?", default=REQUEST)
    parser.add_argument("--kind", choices=list(Kind), action="append", default=[], help="only entries of this kind")
    arguments = parser.parse_args()
    report = build(load(Path(__file__).parent), workspace=WORKSPACE)
    router = Router.open(report.snapshot)

    routed = router.route(arguments.request, k=3, selection=Selection(kinds=tuple(arguments.kind)))
    print(f"request: {arguments.request}")
    for place, tool in enumerate(routed, 1):
        print(f"  {place}. {tool.record.kind} {tool.tool_id}")

    rendered = routed.render("openai")  # or "anthropic", "responses", "mcp", "langchain"
    print(f"a model is given {len(rendered.tools)} of {len(router)}:")
    for definition in rendered.tools:
        print(f"  {definition['function']['name']}: {definition['function']['description']}")

    for definition in rendered.tools:
        name = definition["function"]["name"]
        record = router.record(rendered.tool_id(name))
        if record is not None and record.kind is Kind.SKILL:
            print(f"the model calls {name} and is answered:")
            for line in router.call(record.tool_id, {}).splitlines():
                print(f"  {line}".rstrip())
            print(f"  (beside it: {', '.join(record.annotations.get('files', ())) or 'no other files'})")
            break


if __name__ == "__main__":
    main()
