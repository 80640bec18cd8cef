"""The protocol of the generators of expansions: questions in, answers and failures out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from threading import Event
from typing import Any, ClassVar, Protocol

from pipeline.enrichment import prompt
from pipeline.records import Catalog
from router.expansion import Expansion
from router.fingerprint import fingerprint
from router.record import ToolRecord

NEVER = Event()  # is not set: nobody stops the generator


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """What an answer consumed: tokens as the server counted them, US dollars where the model has a price.

    `cost_usd` is None where the cost is unknown. `unconfirmed_usd` is the estimated cost of requests without an answer:
    a server may bill what it computed for a client that had stopped waiting.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    unconfirmed_usd: float = 0.0

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        """Return the sum of both; its cost is unknown where one of the costs is."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        sums: list[Any] = [None if None in pair else sum(pair) for pair in pairs]
        return TokenUsage(*sums)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked about one tool: the system message, the user's message, and the sampling parameters."""

    instructions: str
    message: str
    parameters: Mapping[str, Any]


NO_MODEL = Prompt("", "", {})


@dataclass(frozen=True, slots=True)
class Question:
    """A record to write an expansion for.

    `key` is that of the answer in the ledger. `prompt` is what a model is asked, NO_MODEL where none is; `former` are
    the prompts with tools' former names. With `known`, an answer in other languages, only the `added` are asked for.
    """

    key: str
    record: ToolRecord
    prompt: Prompt = NO_MODEL
    former: tuple[Prompt, ...] = ()
    known: Expansion | None = None
    added: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GeneratedExpansion:
    """A generator's answer for one tool. `completion` is the text that a model wrote, kept in the ledger only."""

    asked: ClassVar[bool] = True
    tool_id: str
    expansion: Expansion
    usage: TokenUsage = field(default_factory=TokenUsage)
    completion: str = field(default="", compare=False)


NO_KEY = "no key"
# Kinds of failure of a question that waits: its answers were of no use again and again, or its record changes often.
WAITS = frozenset({"backed off", "changing"})
# Kinds of failure that are not the model's: a limit or a missing key of the operator's, or no answer yet.
POSTPONED = frozenset({"budget", "waiting", NO_KEY}) | WAITS
# Kinds of failure of an answer that was paid for and says nothing, or nothing about its tool.
UNREADABLE = frozenset({"shape", "empty", "mismatch"})
# Failures of tools whose answers were computed and paid for.
UNUSABLE = UNREADABLE | {"refusal", "truncated"}
# Not asked because the server has nothing left to give: its quota or limit is spent, or it stopped answering.
UNASKED = "unasked"


@dataclass(frozen=True, slots=True)
class GenerationFailure:
    """Why a generator has no answer for one tool. Other tools go on, and the next build tries this tool again.

    `completion` is the text that a model wrote all the same, kept in the ledger only.
    """

    tool_id: str
    kind: str
    message: str
    usage: TokenUsage = field(default_factory=TokenUsage)
    completion: str = field(default="", compare=False)

    @property
    def postponed(self) -> bool:
        """Whether nothing went wrong, and a later build will ask the question or collect its answer."""
        return self.kind in POSTPONED

    @property
    def asked(self) -> bool:
        """Whether the model received the question."""
        return not self.postponed and self.kind != UNASKED


Outcome = GeneratedExpansion | GenerationFailure


class Generator(Protocol):
    """Writes expansions.

    `name` and `model` say who writes. `accepts_siblings` says whether a question may show siblings. `unclaimed` is the
    usage of answers that were paid for and that no question asks for any more. `given_up` says why to ask no more, and
    is empty while questions may be asked: who checks the answers may set it.
    """

    name: str
    model: str
    accepts_siblings: bool = False
    unclaimed: TokenUsage = TokenUsage()
    given_up: str = ""

    def question(self, record: ToolRecord, record_hash: str, siblings: Sequence[ToolRecord] = ()) -> Question | None:
        """Return the question about a record, beside its siblings.

        None means that the generator has nothing to say about the tool: the next generator is asked.
        """
        ...

    def generate(self, questions: Sequence[Question], stop: Event = NEVER) -> Iterator[Sequence[Outcome]]:
        """Yield one outcome for each question, in any order, in groups.

        The caller commits each group before it requests the next, so that a kill loses only what is in flight. Once
        `stop` is set, nothing more is asked, and the groups end with what is in flight. Raises RunAborted where no
        answer can be had.
        """
        ...


def answer_key(name: str, model: str, asked: Prompt) -> str:
    """Return the key of a model's answer: the hash of all that the model is shown, and of its name.

    The prompt's version stands for the words on how to form the answer. See docs/decisions/ledger.md.
    """
    shown = [fingerprint(asked.instructions), asked.message, dict(asked.parameters)]
    return fingerprint([prompt.PROMPT_VERSION, name, model, *shown])


def questions_about(catalog: Catalog, generator: Generator, records: Iterable[ToolRecord]) -> list[Question]:
    """Return a generator's questions about some records of a catalog, without siblings."""
    questions = (generator.question(record, catalog.hashes[record.tool_id]) for record in records)
    return [question for question in questions if question is not None]
