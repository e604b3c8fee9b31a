"""What the report of a full run costs: size, time to make, time until Chromium has opened it.

    python -m tests.benchmarks.report [--questions 451] [--keep FOLDER]

The run is synthetic but made of the real records, over the demo's recordings. The floor of the opening time
is a page of the same size that holds nothing but one text in a closed fold.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from evals.report.write import write_report
from tests.report.building import DEMO, RunBuilder, imported, multiplied_demo

_OPENINGS = 3


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=451)
    parser.add_argument("--keep", type=Path, help="Make everything here, and leave it.")
    chosen = parser.parse_args()
    if chosen.keep:
        chosen.keep.mkdir(parents=True, exist_ok=True)
        _measure(chosen.keep, chosen.questions)
    else:
        with tempfile.TemporaryDirectory() as folder:
            _measure(Path(folder), chosen.questions)


def _measure(folder: Path, questions: int) -> None:
    begun = time.monotonic()
    data = multiplied_demo(folder / "data", questions)
    imported(DEMO, folder / "store")
    builder = RunBuilder(data, folder / "store", commands=40)
    builder.write(folder / "run", skill=0.62)
    builder.write(folder / "other", skill=0.55, model="gpt-5.2-codex-mini")
    print(
        f"two runs of {questions} questions made in {time.monotonic() - begun:.0f} s (not part of a report)"
    )
    for name, runs in (("one run", ["run"]), ("two runs", ["run", "other"])):
        out = folder / f"{name.replace(' ', '-')}.html"
        begun, used = time.monotonic(), time.process_time()
        written = write_report([folder / one for one in runs], out)
        print(
            f"{name}: {written.bytes / 1e6:.1f} MB, made in {time.monotonic() - begun:.1f} s "
            f"({time.process_time() - used:.1f} s of CPU)"
        )
        floor = folder / "floor.html"
        line = "one line of text over and over\n"
        text = line * (written.bytes // len(line))
        floor.write_text(f"<!doctype html><title>floor</title><details><pre>{text}</pre></details>")
        opened, least = _opening(out), _opening(floor)
        print(f"  opened in {opened:.2f} s; floor {least:.2f} s; ratio {opened / least:.2f}")


def _opening(path: Path) -> float:
    """Median seconds until the page was painted and answered a question."""
    from playwright.sync_api import sync_playwright

    taken = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for _ in range(_OPENINGS):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            begun = time.monotonic()
            page.goto(path.as_uri(), wait_until="load", timeout=120_000)
            page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            taken.append(time.monotonic() - begun)
            page.close()
        browser.close()
    return statistics.median(taken)


if __name__ == "__main__":
    main()
