"""What a dry run says of a memory that searches: the calls that the run then makes, and no others."""

import json

import pytest

WRITES = "insert side, writer: about 12 calls"
EMBEDS = "insert side, embedding: about 6 calls"


@pytest.fixture
def evaluate(bench, run, tmp_path, monkeypatch):
    """Runs `eval run` with models that answer by script."""
    monkeypatch.setenv("RUNBOOK_HOME", str(tmp_path / "home"))

    def finish(memory, *arguments, chat="chat"):
        url = bench.script.url
        models = [f'retrieval.{one}={{base_url="{url}", model="{chat}"}}' for one in ("controller", "writer")]
        models.append(f'retrieval.embedding={{base_url="{url}", model="bag"}}')
        changes = [part for one in models for part in ("--set", one)]
        return run("eval", "run", "--data", bench.data.path, "--memory", memory, *changes, *arguments)

    return finish


def test_a_dry_run_tells_the_calls_of_both_sides_and_leaves_out_what_is_kept(bench, evaluate, run, tmp_path):
    planned = evaluate("agentrunbook-r", "--dry-run")
    assert planned.returncode == 0, planned.stderr
    told = planned.stdout
    assert "memory agentrunbook-r" in told
    assert not any(word in told for word in ("scout", "sandbox", "attempt"))
    assert WRITES in told
    assert EMBEDS in told
    assert "controller: about 5 calls" in told
    assert "query embedding: about 5 calls" in told
    assert "a rough guess" in told
    assert bench.script.requests == []

    done = evaluate("agentrunbook-r", "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    shown = json.loads(run("eval", "show", tmp_path / "run", "--json").stdout)
    assert (shown["insert_cost"]["writing_calls"], shown["insert_cost"]["embedding_calls"]) == (12, 6)
    assert shown["model_use"]["calls"] == 10

    again = evaluate("agentrunbook-r", "--dry-run").stdout
    assert "insert side, writer: about 0 calls" in again
    assert "insert side, embedding: about 0 calls" in again
    other = evaluate("agentrunbook-r", "--dry-run", chat="another").stdout
    assert WRITES in other


def test_a_cascade_tells_what_both_its_memories_may_take(evaluate):
    slow = ["--set", "retrieval.cascade.slow=rag-slice-notes"]
    told = evaluate("cascade", *slow, "--dry-run").stdout
    assert "memory cascade (rag-slice, then rag-slice-notes)" in told
    assert "rag-slice, insert side, embedding: about 2 calls" in told
    assert "rag-slice-notes, insert side, writer: about 12 calls" in told
    assert "rag-slice-notes, query embedding: about 5 calls" in told
    assert "agent" not in told


def test_money_is_told_for_models_that_have_a_price(evaluate, tmp_path):
    prices = tmp_path / "prices.toml"
    rates = 'input = 1e6\noutput = 1e6\nsource = "test"\nchecked = "2026-01-01"\n'
    prices.write_text(f"[models.bag]\n{rates}")
    told = evaluate("rag-slice", "--set", f"gateway.prices={prices}", "--dry-run").stdout
    (line,) = [one for one in told.splitlines() if one.startswith("query embedding")]
    assert "price unknown" not in line
    assert line.endswith(", 300.00 USD")  # 5 questions of 60 tokens


def test_what_a_memory_lacks_is_missing_in_a_dry_run_too(bench, run):
    told = run("eval", "run", "--data", bench.data.path, "--memory", "agentrunbook-r", "--dry-run")
    assert told.returncode == 1
    missing = [line for line in told.stdout.splitlines() if line.startswith("missing: ")]
    assert any("needs an embedding model" in line for line in missing)
    assert any("needs a chat model" in line for line in missing)


def test_an_ablation_of_what_scout_does_not_read_is_told_before_and_after(bench, run, tmp_path):
    vanilla = ("eval", "run", "--data", bench.data.path, "--memory", "vanilla", "--sandbox", "process")
    line = "Agent scout reads neither prompt nor candidates, so --memory vanilla changes nothing"
    planned = run(*vanilla, "--dry-run")
    assert planned.stdout.count(line) == 1, planned.stderr
    done = run(*vanilla, "--limit", "1", "--out", tmp_path / "run")
    assert done.stdout.startswith(line), done.stderr
    shown = json.loads(run("eval", "show", tmp_path / "run", "--json").stdout)
    assert any(one["about"] == "idle" and one["text"].startswith(line) for one in shown["remarks"])
