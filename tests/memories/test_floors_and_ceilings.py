"""Memories that do not search: nothing, chance, position, gold."""

from dataclasses import replace

from evals.evidence_recall import states_of
from runbook.outcomes import Outcome


def test_none_is_an_empty_context_that_counts(bench):
    result = bench.memory("none").query(bench.task())
    assert result.outcome is Outcome.OK
    assert result.context.items == ()
    assert result.evidence is not None
    assert result.evidence.is_empty


def test_random_draws_the_budget_again_for_the_same_seed_and_otherwise_for_another_question(bench):
    memory = bench.memory("random")
    drawn = [memory.query(bench.task(number)).evidence for number in (0, 0, 1)]
    assert [one.distinct_states for one in drawn] == [20, 20, 20]
    assert drawn[0] == drawn[1]
    assert states_of(drawn[0].trajectory_spans) != states_of(drawn[2].trajectory_spans)
    again = memory.query(replace(bench.task(0), repeat=1)).evidence
    assert states_of(again.trajectory_spans) != states_of(drawn[0].trajectory_spans)


def test_first_takes_the_data_sets_order_and_nothing_else(bench):
    order = bench.data.haystacks["q-0"]
    evidence = bench.memory("first").query(bench.task()).evidence
    named = list(dict.fromkeys(span.trajectory_id for span in evidence.trajectory_spans))
    assert named == list(order[:3])
    assert evidence.distinct_states == 20
    assert [span.end_state_index for span in evidence.trajectory_spans] == [6, 6, 5]


def test_oracle_returns_the_gold_spans_and_their_text(bench):
    result = bench.memory("oracle").query(bench.task(1))
    gold = bench.data.gold["q-1"]
    assert states_of(result.evidence.trajectory_spans) == states_of(gold.pieces[0])
    assert "CODE-1-2" in result.context.text


def test_oracle_with_notes_puts_the_notes_of_the_gold_trajectory_first(bench):
    memory = bench.memory("oracle-slices-notes")
    memory.insert(bench.haystack)
    context = memory.query(bench.task(1)).context
    assert context.items[0].text.startswith("# Notes on trajectory tr-1")
    assert "procedure goal: Open the page of warehouse 1" in context.items[0].text
    assert "CODE-1-1" in context.text  # the state before the gold one belongs to its slice
