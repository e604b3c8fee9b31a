"""Small data roots in LongMemEval-V2 form, for tests and benchmarks."""

import json
from pathlib import Path


def write_data_root(root: Path, *, questions: int = 3, trajectories: int = 4, states: int = 5) -> Path:
    """A small data root in LongMemEval-V2 form: trajectory `tr-i` shows code `CODE-i-k` in its state k.

    Question `q-i` asks for the code in state 2 of trajectory i (modulo their number); gold.json names it.
    """
    root.mkdir(parents=True, exist_ok=True)
    rows = [_trajectory(index, states) for index in range(trajectories)]
    asked = [(f"q-{index}", index % trajectories) for index in range(questions)]
    _write_lines(root / "trajectories.jsonl", rows)
    _write_lines(
        root / "questions.jsonl",
        [
            {
                "id": question_id,
                "domain": "web",
                "question_type": "static-environment",
                "question": f"Which access code does the page of warehouse {index} show after step two?",
                "image": None,
                "answer": f"CODE-{index}-2",
                "eval_function": "norm_phrase_set_match",
            }
            for question_id, index in asked
        ],
    )
    ids = [row["id"] for row in rows]
    (root / "haystacks").mkdir(exist_ok=True)
    (root / "haystacks" / "lme_v2_small.json").write_text(json.dumps({one: ids for one, _ in asked}))
    gold = {
        one: {
            "evidence": [
                [{"trajectory_id": f"tr-{index}", "start_state_index": 2, "end_state_index": 2}],
            ]
        }
        for one, index in asked
    }
    (root / "gold.json").write_text(json.dumps(gold))
    return root


def write_haystacks_apart(root: Path) -> Path:
    """A data root of 24 questions over distinct haystacks of 29 trajectories."""
    write_data_root(root, questions=24, trajectories=30, states=12)
    ids = [f"tr-{number}" for number in range(30)]
    haystacks = {f"q-{n}": [one for one in ids if one != f"tr-{(n + 1) % 30}"] for n in range(24)}
    (root / "haystacks" / "lme_v2_small.json").write_text(json.dumps(haystacks))
    return root


def _trajectory(index: int, states: int) -> dict[str, object]:
    return {
        "id": f"tr-{index}",
        "domain": "web",
        "goal": f"Open the page of warehouse {index} and read its access code",
        "start_url": f"http://warehouse-{index}.example/",
        "outcome": "success",
        "states": [
            {
                "url": f"http://warehouse-{index}.example/step/{step}",
                "action": f"click('{step + 2}')" if step < states - 1 else None,
                "thought": f"Step {step} of warehouse {index}",
                "accessibility_tree": (
                    f"RootWebArea 'Warehouse {index}', focused\n\t[1] navigation '', visible\n"
                    f"\t[{step + 2}] button 'Next step {step}', clickable\n"
                    f"\tStaticText 'Access code CODE-{index}-{step} of warehouse {index}'"
                ),
                "screenshot": None,
            }
            for step in range(states)
        ],
    }


def _write_lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
