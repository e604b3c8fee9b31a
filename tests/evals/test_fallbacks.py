"""The questions that a fall-back of the public harness touched are listed with the figures."""

import json
from pathlib import Path

from evals.runs.summary import summarise
from tests.recorded_runs import Answer, write_run


def test_touched_questions_are_listed_by_reason(data_root: Path, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", data_root, {f"q-{n}": Answer(score=0) for n in range(3)})
    assert summarise(folder)["fallbacks"] == {}
    for question_id, change in {
        "q-0": {"fallback": "bad_request", "response": ""},
        "q-1": {"fallback": "reasoning"},
        "q-2": {"cut": {"final_items": 0, "final_tokens": 0}},
    }.items():
        file = folder.question_folder(question_id) / "reading.1.json"
        record = json.loads(file.read_bytes())
        cut = record["reading"]["cut"] | change.pop("cut", {})
        record["reading"] |= change | {"cut": cut}
        file.write_text(json.dumps(record))
    file = folder.question_folder("q-1") / "verdict.1.json"
    record = json.loads(file.read_bytes())
    vote = {"label": 1, "reason": "", "model": None, "calls": 1, "seconds": 0, "fallback": "lenient_verdict"}
    record["verdict"]["votes"] = [vote]
    file.write_text(json.dumps(record))
    assert summarise(folder)["fallbacks"] == {
        "bad_request": ["q-0"],
        "lenient_verdict": ["q-1"],
        "nothing_left": ["q-2"],
        "reasoning": ["q-1"],
    }
    assert summarise(folder)["tokens_counted"] == ["estimate"]
