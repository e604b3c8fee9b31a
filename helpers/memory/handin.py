"""Hand in evidence: count its states, check it, save a draft, submit."""

from __future__ import annotations

import os

from .arguments import FLAG, MANY, TEXT, Arguments, Verb
from .evidence import BUDGET, MOST_BYTES, STATUSES, Evidence, from_json, from_options
from .failure import FOUND, NOTHING_FOUND, HelperError
from .haystack import Workspace
from .page import Page
from .writing import make_folder, write_whole

OUTPUT = "memory_module_output.json"
SUBMITTED = ".submitted"
DRAFTS = os.path.join("notes", "drafts")
_STDIN = 0


def submit(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """Check the evidence, write it as the attempt's result and end the attempt."""
    evidence = _checked(arguments, workspace)
    hand_in(evidence, workspace)
    page.line(f"submitted: {_summary(evidence)}. The attempt ends now.")
    return FOUND


def hand_in(evidence: Evidence, workspace: Workspace) -> None:
    """Write the result, then the mark that ends the attempt (the SHA-256 of the result, in hex)."""
    from hashlib import sha256

    raw = evidence.document(workspace)
    write_whole(os.path.join(workspace.root, OUTPUT), raw)
    write_whole(os.path.join(workspace.root, SUBMITTED), sha256(raw).hexdigest().encode())


def save(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """Check the evidence and keep it as a draft; the attempt goes on."""
    evidence = _checked(arguments, workspace)
    raw = evidence.document(workspace)
    folder = os.path.join(workspace.root, DRAFTS)
    make_folder(folder)
    name = _draft_name(folder)
    write_whole(os.path.join(folder, name), raw)
    page.line(f"saved {os.path.join(DRAFTS, name)}: {_summary(evidence)}")
    page.foot(f"hand it in: memory submit {os.path.join(DRAFTS, name)}")
    return FOUND


def check(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """Check the evidence and write nothing."""
    evidence = _checked(arguments, workspace)
    evidence.document(workspace)
    page.line(f"valid: {_summary(evidence)}")
    if not evidence.note.strip():
        page.line("no note: the reader will see only the states")
    page.foot("hand it in: the same line with submit")
    return FOUND


def budget(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """How many of the states that may be handed in are used, span by span."""
    try:
        evidence = _evidence(arguments, workspace)
    except _NothingGivenError:
        page.line(f"0 of {BUDGET} states used: no {OUTPUT} and no draft yet")
        return NOTHING_FOUND
    page.line(f"{evidence.states} of {BUDGET} states used, {BUDGET - evidence.states} left")
    for span in evidence.spans:
        page.line(f"{span.size} {span}")
    return FOUND


class _NothingGivenError(HelperError):
    """Neither a file nor options, and nothing written before."""


def _checked(arguments: Arguments, workspace: Workspace) -> Evidence:
    """The evidence of the command line; spans may be missing only when the status says why."""
    evidence = _evidence(arguments, workspace)
    if evidence.spans or evidence.status == "insufficient" or arguments.has("empty"):
        return evidence
    if evidence.status in ("", "supported"):
        raise HelperError("no spans: add --span ID:A-B, or say why there are none, as --status insufficient")
    if not evidence.note.strip():
        raise HelperError("neither spans nor a note: empty evidence needs --status insufficient")
    return evidence


def _evidence(arguments: Arguments, workspace: Workspace) -> Evidence:
    status = arguments.text("status")
    if status and status not in STATUSES:
        raise HelperError(f"--status must be one of {', '.join(STATUSES)}")
    loose = arguments.has("span") or arguments.has("note")
    if arguments.words and loose:
        raise HelperError("give either a file or --span and --note")
    if loose or (not arguments.words and (status or arguments.has("empty"))):
        note = _note(arguments.text("note"))
        return from_options(note, arguments.texts("span"), status, workspace)
    evidence = from_json(_input(arguments, workspace), workspace)
    evidence.status = status or evidence.status
    return evidence


def _input(arguments: Arguments, workspace: Workspace) -> bytes:
    """The JSON that is meant: the one named, else the result file, else the latest draft."""
    if arguments.words:
        return _stdin() if arguments.word(0) == "-" else _file(arguments.word(0))
    output = os.path.join(workspace.root, OUTPUT)
    if os.path.isfile(output):
        return _file(output)
    drafts = _drafts(os.path.join(workspace.root, DRAFTS))
    if drafts:
        return _file(os.path.join(workspace.root, DRAFTS, drafts[-1]))
    raise _NothingGivenError("nothing to hand in: give --note and --span ID:A-B, or a JSON file or -")


def _note(text: str) -> str:
    if text == "-":
        return _stdin().decode("utf-8", "replace")
    if text.startswith("@"):
        return _file(text[1:]).decode("utf-8", "replace")
    return text


def _file(path: str) -> bytes:
    if not os.path.isfile(path):
        raise HelperError(f"no file {path}")
    try:
        with open(path, "rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise HelperError(f"cannot read {path}: {error.strerror}") from None
    if len(raw) > MOST_BYTES:
        raise HelperError(f"{path} has more than {MOST_BYTES} bytes")
    return raw


def _stdin() -> bytes:
    with open(_STDIN, "rb", closefd=False) as file:
        raw = file.read(MOST_BYTES + 1)
    if not raw.strip():
        raise HelperError("standard input is empty")
    if len(raw) > MOST_BYTES:
        raise HelperError(f"standard input has more than {MOST_BYTES} bytes")
    return raw


def _drafts(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(".json") and name[0].isdigit())
    except OSError:
        return []


def _draft_name(folder: str) -> str:
    """The time in UTC with milliseconds; later by one where that name is taken."""
    import time

    moment = time.time_ns() // 1_000_000
    while True:
        seconds, thousandths = divmod(moment, 1000)
        name = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(seconds))}.{thousandths:03d}Z.json"
        if not os.path.lexists(os.path.join(folder, name)):
            return name
        moment += 1


def _summary(evidence: Evidence) -> str:
    said = f", status {evidence.status}" if evidence.status else ""
    spans = ", ".join(map(str, evidence.spans)) or "no spans"
    return f"{evidence.states} of {BUDGET} states ({spans}), a note of {len(evidence.note)} characters{said}"


_OPTIONS = {"span": MANY, "note": TEXT, "status": TEXT, "empty": FLAG}
_FORM = "[FILE|-] or --note TEXT|@FILE|- --span ID:A-B ... [--status S]"
_INSTEAD = "a FILE, or standard input (-) that ends"
_ABOUT = f"""
Evidence is a JSON file (- is standard input) or a note and spans, best first, {BUDGET} states in all:
  memory VERB --note 'what the states prove' --span ID:3-5 --span ID:9 --status supported
S is {" | ".join(STATUSES)}.
Without spans the status must be given (--status insufficient, or --empty for an empty result).
With neither file nor options, {OUTPUT} or else the latest draft is meant."""

VERBS = {
    "budget": Verb(
        f"budget {_FORM}",
        f"Print how many of {BUDGET} states the evidence (by default the latest written) uses, span by span."
        + _ABOUT,
        budget,
        instead=_INSTEAD,
        words=(0, 1),
        options=_OPTIONS,
    ),
    "check": Verb(
        f"check {_FORM}",
        "Check the evidence; nothing is written." + _ABOUT,
        check,
        instead=_INSTEAD,
        words=(0, 1),
        options=_OPTIONS,
    ),
    "save": Verb(
        f"save {_FORM}",
        "Check the evidence and keep it as a draft; the attempt goes on." + _ABOUT,
        save,
        instead=_INSTEAD,
        words=(0, 1),
        options=_OPTIONS,
    ),
    "submit": Verb(
        f"submit {_FORM}",
        f"Check the evidence, write it to {OUTPUT} and end the attempt." + _ABOUT,
        submit,
        instead=_INSTEAD,
        words=(0, 1),
        options=_OPTIONS,
    ),
}
