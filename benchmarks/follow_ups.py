"""Whether a dialogue refuses its latest message rightly: `python -m benchmarks.follow_ups SNAPSHOT --judged FOLDER`.

Of follow-ups ("yes, do it", "and for Berlin?") none should be refused. The threshold was chosen on those of the part
"tuned"; those of "judged" are of the demo too. Of the folder's requests that no tool fits as many should be refused
after answerable ones as alone; of those that are answered alone, none.
"""

import json
import random
from collections.abc import Sequence
from pathlib import Path

from benchmarks.support.measuring import DATA, about, arguments, report
from quartermaster.evaluation import judgements_of, read_judgements
from router import Router

FOLLOW_UPS = DATA / "dialogue" / "follow_ups.jsonl"
ROUNDS = 5


def refused_follow_ups(router: Router) -> dict[str, dict[str, int]]:
    """How many follow-ups there are by part, and how many are refused, alone and in their dialogue."""
    rows = [json.loads(line) for line in FOLLOW_UPS.read_text(encoding="utf-8").splitlines()]
    parts = {part: [row["messages"] for row in rows if row["part"] == part] for part in ("judged", "tuned")}
    return {
        f"follow-ups, {part}": {
            "requests": len(dialogues),
            "alone": refused(router, [dialogue[-1:] for dialogue in dialogues]),
            "in the dialogue": refused(router, dialogues),
        }
        for part, dialogues in parts.items()
    }


def refused_requests(router: Router, folder: Path, kind: str) -> dict[str, float]:
    """How many judged requests are refused, alone and after answered ones, which are drawn: the mean of the rounds.

    `kind` "none" takes those that no tool fits, "answered" those that a tool fits and that are not refused alone.
    """
    file = judgements_of(folder)
    assert file, f"{folder} holds no judged requests"
    judged = read_judgements(file)
    answered = [one.request for one in judged if one.required and not router.route(one.request).none_fits]
    requests = answered if kind == "answered" else [one.request for one in judged if one.kind == kind]
    chance = random.Random(1)

    def after(count: int) -> float:
        rounds = ([[*chance.sample(answered, count), text] for text in requests] for _ in range(ROUNDS))
        return sum(refused(router, dialogues) for dialogues in rounds) / ROUNDS

    alone = refused(router, [[text] for text in requests])
    return {"requests": len(requests), "alone": alone, "after one": after(1), "after three": after(3)}


def refused(router: Router, dialogues: Sequence[Sequence[str]]) -> int:
    """How many dialogues are told that no tool fits."""
    return sum(router.route(dialogue).none_fits for dialogue in dialogues)


def main() -> None:
    """Measure, print, write."""
    parser = arguments(__doc__)
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("--judged", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--against", type=Path, metavar="STORED", help="a stored run, to print ratios to")
    asked = parser.parse_args()
    with Router.open(asked.snapshot) as router:
        requests = {f"requests, {kind}": refused_requests(router, asked.judged, kind) for kind in ("none", "answered")}
        measured = {**refused_follow_ups(router), **requests}
    report("Refused in dialogues", about(asked.snapshot), measured, asked.json, asked.against)


if __name__ == "__main__":
    main()
