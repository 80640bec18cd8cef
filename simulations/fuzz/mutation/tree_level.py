"""Mutations of trees: nodes are replaced, removed, repeated, swapped, wrapped, grafted; keys are renamed."""

from collections.abc import Callable
from copy import deepcopy
from random import Random

from simulations.fuzz.mutation.text_level import mutate_text
from simulations.fuzz.mutation.trees import Members, Slot, Tree, node, put, slots, weight
from simulations.fuzz.mutation.values import KEYS, nasty_text, nasty_value

Donor = Callable[[], Tree]
Mutation = Callable[[Random, list[Slot], Donor], None]
_REPEATS = (2, 3, 20, 300)
_MOST_ADDED = 200_000  # bytes


def mutate_tree(tree: Tree, donor: Donor, random: Random) -> Tree:
    """Return a tree after one mutation, in place where it can be. `donor` makes another tree, for its parts."""
    root = [tree]
    random.choice(_MUTATIONS)(random, slots(root), donor)
    return root[0]


def _replace(random: Random, places: list[Slot], _: Donor) -> None:
    put(*random.choice(places), nasty_value(random))


def _change_scalar(random: Random, places: list[Slot], _: Donor) -> None:
    place = random.choice([slot for slot in places if not isinstance(node(*slot), list)] or places)
    value = node(*place)
    if isinstance(value, bool) or value is None or isinstance(value, list):
        put(*place, random.choice((True, False, None, 0, "", [])))
    elif isinstance(value, str):
        put(*place, mutate_text(str(value), random))
    else:
        put(*place, random.choice((value + 1, -value, value * 1000, str(value), [value], float(value % 97) / 7)))


def _remove(random: Random, places: list[Slot], _: Donor) -> None:
    holder, index = random.choice(places[1:] or places)
    del holder[index : index + random.choice((1, 1, 1, 5))]
    if not holder and holder is places[0][0]:
        holder.append(None)


def _repeat(random: Random, places: list[Slot], _: Donor) -> None:
    holder, index = random.choice(places[1:] or places)
    if holder is not places[0][0]:
        times = min(random.choice(_REPEATS), _MOST_ADDED // weight(node(holder, index), _MOST_ADDED))
        holder[index:index] = [holder[index]] * times  # one node in many places: repeats of repeats multiply


def _swap(random: Random, places: list[Slot], _: Donor) -> None:
    one, two = random.choice(places), random.choice(places)
    first, second = deepcopy(node(*one)), deepcopy(node(*two))
    put(*one, second)
    if two[1] < len(two[0]):
        put(*two, first)


def _wrap(random: Random, places: list[Slot], _: Donor) -> None:
    place = random.choice(places)
    value: Tree = node(*place)
    for _level in range(random.choice((1, 1, 2, 40))):
        value = [value] if random.random() < 0.5 else Members([(random.choice(KEYS), value)])
    put(*place, value)


def _unwrap(random: Random, places: list[Slot], _: Donor) -> None:
    place = random.choice(places)
    value = node(*place)
    if isinstance(value, list) and value:
        put(*place, node(value, random.randrange(len(value))))


def _rename(random: Random, places: list[Slot], _: Donor) -> None:
    members = [slot for slot in places if isinstance(slot[0], Members)]
    if members:
        holder, index = random.choice(members)
        key = random.choice(members)[0][0][0] if random.random() < 0.3 else random.choice((*KEYS, nasty_text(random)))
        holder[index] = (key, holder[index][1])


def _insert(random: Random, places: list[Slot], donor: Donor) -> None:
    holders = [node(*slot) for slot in places if isinstance(node(*slot), list)]
    if not holders:
        return
    holder = random.choice(holders)
    value = nasty_value(random) if random.random() < 0.5 else _part(donor, random)
    entry = (random.choice(KEYS), value) if isinstance(holder, Members) else value
    holder.insert(random.randint(0, len(holder)), entry)


def _graft(random: Random, places: list[Slot], donor: Donor) -> None:
    put(*random.choice(places), _part(donor, random))


def _part(donor: Donor, random: Random) -> Tree:
    return node(*random.choice(slots([donor()])))


_MUTATIONS: tuple[Mutation, ...] = (
    _replace, _replace, _change_scalar, _change_scalar, _remove, _repeat, _swap, _wrap, _unwrap, _rename, _insert,
    _graft,
)  # fmt: skip
