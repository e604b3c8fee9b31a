"""Which questions a study searches on and which it confirms on; questions of one cluster stay together."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evals.question import Gold
from evals.statistics.clusters import FEW, clusters_of


class SplitError(ValueError):
    """The questions cannot be split into two parts that say anything."""


@dataclass(frozen=True, slots=True)
class Split:
    """Ids of questions in the order of the data root."""

    search: tuple[str, ...]
    confirm: tuple[str, ...]
    clusters: int
    by_gold: bool
    """False where each question is taken for a cluster of its own, since there is no gold evidence."""


def split(
    question_ids: Sequence[str], gold: Mapping[str, Gold] | None, *, confirm: float, seed: int
) -> Split:
    """Cut the questions so that about the share `confirm` of them is kept for confirmation.

    Clusters come in a random order, large ones first, each to the part that lacks most.

    Raises:
        SplitError: there are fewer than 10 clusters.
    """
    found = clusters_of(question_ids, gold)
    if found.few:
        raise SplitError(
            f"the {len(question_ids)} questions fall into {found.count} clusters that share no gold "
            f"evidence, and a study needs {FEW}: give it more questions"
        )
    members: dict[int, list[str]] = {}
    for question_id, label in zip(question_ids, found.labels.tolist(), strict=True):
        members.setdefault(label, []).append(question_id)
    clusters = list(members.values())
    random.Random(f"{seed}/split").shuffle(clusters)
    clusters.sort(key=len, reverse=True)
    parts: dict[str, set[str]] = {"search": set(), "confirm": set()}
    shares = {"search": 1 - confirm, "confirm": confirm}
    for cluster in clusters:
        lacking = {name: shares[name] * len(question_ids) - len(part) for name, part in parts.items()}
        parts[max(lacking, key=lambda name: (lacking[name], name))].update(cluster)
    if not all(parts.values()):
        raise SplitError("one cluster holds almost all questions, so that nothing is left to confirm on")
    return Split(
        search=tuple(one for one in question_ids if one in parts["search"]),
        confirm=tuple(one for one in question_ids if one in parts["confirm"]),
        clusters=found.count,
        by_gold=found.by_gold,
    )
