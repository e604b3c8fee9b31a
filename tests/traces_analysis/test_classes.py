"""Commands are classified by what runs, however it is wrapped."""

import orjson
import pytest

from evals.traces.classes import Rule, classify, rule_of, rules


@pytest.mark.parametrize("rule", rules().rule, ids=lambda rule: rule.name)
def test_the_example_of_a_rule_is_classified_by_that_rule(rule: Rule) -> None:
    book = rules()
    if rule.tools:
        tool, _, arguments = rule.example.partition(" ")
        assert book.tool_rule_of(tool, arguments) is rule
        assert classify(tool, "", arguments).kind == rule.kind
        return
    found = classify("bash", rule.example, "")
    assert rule in [rule_of(command) for command in found.commands]
    assert found.kind == rule.kind


def test_every_class_of_a_rule_has_a_place_in_the_order() -> None:
    assert {rule.kind for rule in rules().rule} < set(rules().order)


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("cd haystack && rg -n foo | head -5", "raw"),
        ("cd haystack/trajectories/a-1; cat 0007.txt", "raw"),
        ("bash -lc \"cd /w && bash -c './memory search x'\"", "guided"),
        ("timeout 20 ./memory grep 'a b'", "guided"),
        ("X=1 env -i Y=2 rg foo haystack/", "raw"),
        ("find haystack -name '*.txt' -exec grep -l foo {} \\;", "raw"),
        ("ls haystack/trajectories | xargs -n 1 -I {} sh -c 'cat haystack/trajectories/{}/0001.txt'", "raw"),
        ("./memory search x | rg foo", "guided"),
        ("cat question.json; ./memory overview", "guided"),
        ("./memory state a 3 && ./memory submit --note x", "output"),
        ("echo '{}' | tee memory_module_output.json", "output"),
        ("cat $(ls haystack/trajectories/*/0001.txt | head -1)", "raw"),
        ("rg foo haystack > notes/found.txt", "output"),
        ("echo 'haystack/trajectories is nice'", "other"),
        ("sleep 1; true", "other"),
        ("", "other"),
    ],
)
def test_pipelines_lists_and_shells_are_unpacked(command: str, kind: str) -> None:
    assert classify("bash", command, "").kind == kind


def test_tools_without_commands_are_classified_by_their_arguments() -> None:
    path = orjson.dumps({"file_path": "/w/haystack/trajectories/a/0001.txt"}).decode()
    assert classify("Read", "", path).kind == "raw"
    assert classify("TodoWrite", "", "{}").kind == "other"
