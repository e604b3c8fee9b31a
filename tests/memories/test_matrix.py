"""`runbook eval matrix` as a user has it, and what it refuses."""

import json
from pathlib import Path

import pytest

from evals.matrix.interleave import turns
from evals.matrix.plan import read_plan
from evals.runs.config_file import ConfigError

PLAN = """
reference = "oracle"
[run]
data = "{data}"
store = "{store}"
reader = {{ base_url = "{url}", model = "reader" }}
judge = {{ base_url = "{url}", model = "judge" }}
[run.retrieval]
embedding = {{ base_url = "{url}", model = "bag" }}
controller = {{ base_url = "{url}", model = "chat" }}
"""


def plan_of(folder: Path, data: Path, url: str, *arms: str) -> Path:
    tables = "".join(f'[arms.{arm}]\nmemory = "{arm}"\n' for arm in arms)
    file = folder / "matrix.toml"
    file.write_text(PLAN.format(data=data, store=folder / "store", url=url) + tables)
    return file


def records(out: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in out.glob("*/questions/*/*.json")}


def test_all_arms_answer_the_same_questions_and_nothing_is_done_twice(tmp_path, data_root, script, run):
    arms = ("none", "random", "first", "rag-slice-bm25", "agentrunbook-r", "cascade", "oracle")
    file = plan_of(tmp_path, data_root, script.url, *arms)
    cascade = 'retrieval.cascade = { quick = "rag-slice-bm25", slow = "oracle", threshold = 1.0 }'
    file.write_text(file.read_text().replace('memory = "cascade"', f'memory = "cascade"\n{cascade}'))
    out = tmp_path / "out"
    done = run("eval", "matrix", file, "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)
    rows = {row["name"]: row for row in table["rows"]}
    assert list(rows) == list(arms)
    assert all(row["coverage"] == 1.0 for row in rows.values())
    assert rows["oracle"]["evidence_hit"] == 1.0
    assert rows["none"]["evidence_hit"] == 0.0
    assert rows["cascade"]["evidence_hit"] == 1.0  # never sure enough, so the slow memory answers
    assert rows["agentrunbook-r"]["tokens"] > 0
    assert rows["agentrunbook-r"]["insert"]["written_trajectories"] == 4
    assert {one["measure"] for one in table["differences"]} == {"accuracy", "all_pieces_hit"}
    assert all(one["p_holm"] >= one["p"] for one in table["differences"])
    assert table["leak"]["questions"] == 3

    before, asked = records(out), len(script.requests)
    again = run("eval", "matrix", file, "--out", out)
    assert again.returncode == 0, again.stderr
    assert "against oracle" in again.stdout
    assert records(out) == before
    chats = [body for body in script.asked("/v1/chat/completions")[asked:] if body["model"] != "reader"]
    assert chats == []

    file.write_text(file.read_text().replace('memory = "none"', 'memory = "none"\nbudget = 3'))
    refused = run("eval", "matrix", file, "--out", out)
    assert refused.returncode == 2
    assert "was made with other settings" in refused.stderr


def test_a_dry_run_tells_of_each_arm_and_writes_nothing(tmp_path, data_root, script, run):
    file = plan_of(tmp_path, data_root, script.url, "oracle", "agentrunbook-r")
    planned = run("eval", "matrix", file, "--dry-run")
    assert planned.returncode == 0, planned.stderr
    first, second = planned.stdout.split("arm agentrunbook-r\n")
    assert first.startswith("arm oracle\n3 of 3 questions")
    assert "controller" not in first
    assert "controller: about" in second
    assert second.endswith("Nothing was run.\n")
    assert (script.requests, [path.name for path in tmp_path.iterdir() if path != file]) == ([], ["data"])

    missing = run("eval", "matrix", file)
    assert missing.returncode == 2
    assert "name a folder for the arms' runs with --out" in missing.stderr

    file.write_text(file.read_text() + "gateway = { run_budget = { money_usd = 1 } }\n")
    for more in (["--dry-run"], ["--out", tmp_path / "out"]):
        refused = run("eval", "matrix", file, *more)
        assert refused.returncode == 2
        assert "arm agentrunbook-r: " in refused.stderr
    assert not (tmp_path / "out").exists()


def test_gates_are_those_of_the_file_and_can_be_left_open(tmp_path, data_root, script, run):
    file = plan_of(tmp_path, data_root, script.url, "none", "oracle")
    text = file.read_text().replace('model = "reader"', 'model = "reader", retry_seconds = 0.1')
    script.answering = 0
    file.write_text(text.replace("[run]\n", "[run]\ngates = [2]\n"))
    stopped = run("eval", "matrix", file, "--out", tmp_path / "out")
    assert stopped.returncode == 1
    assert "2 of the first 2 questions ended in an infrastructure failure" in stopped.stderr
    regardless = run("eval", "matrix", file, "--out", tmp_path / "out", "--no-gates")
    assert regardless.returncode == 1
    assert "arm none: no question has an answer, the first ended in provider_error" in regardless.stderr
    file.write_text(text.replace("[run]\n", "[run]\ngates = []\n"))
    without = run("eval", "matrix", file, "--out", tmp_path / "without")
    assert "no question has an answer" in without.stderr


def test_dense_retrieval_without_an_embedding_model_is_refused_and_never_bm25(tmp_path, data_root, run):
    done = run("eval", "run", "--data", data_root, "--out", tmp_path / "run", "--memory", "rag-slice")
    assert done.returncode == 2
    assert "needs an embedding model: set retrieval.embedding.model" in done.stderr
    assert not (tmp_path / "run").exists()


def test_an_unknown_memory_is_refused_with_the_names_there_are(tmp_path, data_root, run):
    done = run("eval", "run", "--data", data_root, "--out", tmp_path / "run", "--memory", "rag")
    assert done.returncode == 2
    assert "there is no memory 'rag'; there are agent, vanilla, none" in done.stderr


def test_every_question_goes_to_all_arms_before_the_next_one_and_another_arm_begins():
    order = [(turn.arm, turn.question) for turn in turns(["a", "b"], [1, 2])]
    assert order == [("a", 1), ("b", 1), ("b", 2), ("a", 2)]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[arms.a]\n", "name at least two arms"),
        ("[arms.a]\n[arms.b]\nseed = 4\n", r"arms\.b: seed is not that of arms\.a"),
        ("[arms.a]\n[arms.b]\nmemroy = 'none'\n", r"arms\.b: memroy"),
        ("reference = 'c'\n[arms.a]\n[arms.b]\n", "there is no arm 'c'; there are a, b"),
        ("[arms.'../a']\n[arms.b]\n", "names a folder"),
        ("[rnu]\n[arms.a]\n[arms.b]\n", "there is no key 'rnu'"),
        ("[arms\n", "this is no TOML"),
    ],
)
def test_a_matrix_file_that_does_not_fit_is_refused_by_file_and_key(tmp_path, text, complaint):
    file = tmp_path / "matrix.toml"
    file.write_text(text if "[rnu]" in text or "[arms\n" in text else text + f"[run]\ndata = '{tmp_path}'\n")
    with pytest.raises(ConfigError, match=complaint) as refusal:
        read_plan(file, store=tmp_path)
    assert str(file) in str(refusal.value)


def test_the_vanilla_agent_gets_no_aids(tmp_path):
    file = tmp_path / "matrix.toml"
    file.write_text(f"[run]\ndata = '{tmp_path}'\n[arms.a]\n[arms.v]\nmemory = 'vanilla'\n")
    bare = read_plan(file, store=tmp_path).arms["v"]
    assert not any((bare.workflow, bare.manifests, bare.summaries, bare.helper, bare.candidates))


@pytest.mark.needs("shared")
def test_on_real_recordings_oracle_hits_everything_and_position_tells_nothing(tmp_path, shared, run):
    data = shared / "data" / "realmem" / "service"
    file = plan_of(tmp_path, data, "http://unused.example", "random", "first", "rag-slice-bm25", "oracle")
    text = "\n".join(line for line in file.read_text().splitlines() if "unused" not in line)
    file.write_text(text.replace("[run.retrieval]\n", ""))
    done = run("eval", "matrix", file, "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)
    hits = {row["name"]: row["evidence_hit"] for row in table["rows"]}
    assert hits["oracle"] == 1.0
    assert hits["rag-slice-bm25"] > hits["random"]
    leak = table["leak"]
    assert not (leak["only_first"] > leak["only_random"] and leak["p"] < 0.05)
